//! How a label is shown (V-1 to V-5). What is shown is never looked up.

use serde::Serialize;

use crate::chars::is_continuing;
use crate::form::form;
use crate::id::Key;
use crate::label::{Qualified, qualified, trim};
use crate::limits;

/// The abbreviation of a key (V-2): its first 8 characters, `…`, its last 4. A key of 12 characters
/// or fewer stays whole.
///
/// It takes any text, since identities of other kinds are abbreviated alike. For recognition only.
pub fn abbreviated(key: &str) -> String {
    let (head, tail) = limits::KEY_ABBREVIATION;
    let count = key.chars().count();
    if count <= head + tail {
        return key.to_owned();
    }
    let head = key.chars().take(head);
    head.chain(['…']).chain(key.chars().skip(count - tail)).collect()
}

/// The label as a chip shows it (V-1): its own key abbreviated, any other label as it is.
pub fn shown_label(label: &str, key: Option<Key>) -> String {
    let Some(key) = key else {
        return label.to_owned();
    };
    let trimmed = trim(label);
    if trimmed.parse() == Ok(key) {
        return abbreviated(&key.to_string());
    }
    let Some(Qualified { base, .. }) = qualified(trimmed).filter(|parts| parts.key == key) else {
        return label.to_owned();
    };
    // One Zs character and the bracket stand between the base and the digits.
    let before = trimmed[base.len()..].find('(').unwrap_or(0) + 1;
    let digits = base.len() + before;
    let (head, tail) = (&trimmed[..digits], &trimmed[digits + Key::DIGITS..]);
    format!("{head}{}{tail}", abbreviated(&key.to_string()))
}

/// The label as long as a chip may be (V-3), never cut inside a visible character (G-6).
pub fn capped(label: &str) -> String {
    // One more than fits decides whether the label is cut at all.
    if label.chars().nth(limits::CHIP).is_none() {
        return label.to_owned();
    }
    let cut = label.char_indices().nth(limits::CHIP - 1);
    let mut end = cut.map_or(label.len(), |(at, _)| at);
    while end > 0 {
        let splits = label[end..].chars().next().is_some_and(is_continuing);
        if !splits && !label[..end].ends_with('\u{200d}') {
            break;
        }
        end -= label[..end].chars().next_back().map_or(0, char::len_utf8);
    }
    format!("{}…", &label[..end])
}

/// What a mention names, for its icon and its `data-mention-kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A person.
    #[default]
    Human,
    /// An agent.
    Agent,
}

impl Kind {
    /// The value of `data-mention-kind` (P-1).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
        }
    }
}

/// The values of a read-only chip (V-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chip {
    /// What is seen after the sign (V-1, V-3).
    pub text: String,
    /// `title`, `aria-label` and `data-mention-label`: the full label.
    pub label: String,
    /// `data-mention-pubkey`, and whose profile opens.
    pub key: Key,
    /// `data-mention-kind`.
    pub kind: Kind,
    /// Whether the name holds direction controls, so that it is drawn isolated (V-6).
    pub is_isolated: bool,
}

impl Chip {
    /// The chip of a label bound to a key.
    pub fn new(label: &str, key: Key, kind: Kind) -> Self {
        let label = trim(label).to_owned();
        Self {
            text: capped(&shown_label(&label, Some(key))),
            is_isolated: has_bidi_controls(&label),
            label,
            key,
            kind,
        }
    }
}

/// Whether a composer shows the label literally, with a visible sign and without icon (V-5): a
/// label with a full key in it (G-14), or a bare key.
pub fn is_full_key_label(label: &str) -> bool {
    let label = trim(label);
    qualified(label).is_some() || label.parse::<Key>().is_ok()
}

/// Whether a name holds characters that turn the direction of what stands beside it (V-6, S-4).
pub fn has_bidi_controls(name: &str) -> bool {
    name.contains(|c| {
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// How the text of a chip relates to the label it declares (P-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChipMatch {
    /// The whole label.
    Full,
    /// The label as a chip shows it.
    Truncated,
    /// Anything else: plain text, no identity.
    Fragment,
}

impl ChipMatch {
    /// Compares a chip's text with its declared label; `sign` is `@` or `#`, and only a mention has
    /// a key (P-4).
    pub fn of(text: &str, label: &str, sign: char, key: Option<Key>) -> Self {
        let label = trim(label);
        if label.is_empty() {
            return Self::Fragment;
        }
        let text = trim(text);
        let bare = text.strip_prefix(sign).unwrap_or(text);
        let (text, bare) = (form(text), form(bare));
        let equals = |other: &str| {
            let other = form(other);
            text == other || bare == other
        };
        let shown = (sign == '@').then(|| shown_label(label, key));
        if equals(label) {
            Self::Full
        } else if equals(&capped(label))
            || shown.is_some_and(|shown| equals(&shown) || equals(&capped(&shown)))
        {
            Self::Truncated
        } else {
            Self::Fragment
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::form::visible_end;

    const KEY: &str = "150b20bdaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa15dc";

    #[test]
    fn shown_labels() {
        let key = KEY.parse().ok();
        for (label, expected) in [
            (format!("Ada ({KEY}) 12"), "Ada (150b20bd…15dc) 12"),
            (format!("Ada\u{3000}({})", KEY.to_uppercase()), "Ada\u{3000}(150b20bd…15dc)"),
            (KEY.to_uppercase(), "150b20bd…15dc"),
            (format!("({KEY})"), &*format!("({KEY})")),
            (format!("A (B ({KEY})"), "A (B (150b20bd…15dc)"),
            (format!("Ada ({KEY}) 02"), &*format!("Ada ({KEY}) 02")),
            (format!("A ({KEY}) ({})", "9c".repeat(32)), &*format!("A ({KEY}) ({})", "9c".repeat(32))),
            (String::new(), ""),
        ] {
            assert_eq!(shown_label(&label, key), expected, "{label}");
        }
        for (key, expected) in
            [("123456789012", "123456789012"), ("1234567890123", "12345678…0123"), ("", "")]
        {
            assert_eq!(abbreviated(key), expected);
        }
    }

    #[test]
    fn cut_labels_keep_visible_characters() {
        let x = |n: usize| "x".repeat(n);
        for (label, expected) in [
            (x(49), format!("{}…", x(47))),
            (format!("{}\u{301}y", x(47)), format!("{}…", x(46))),
            (format!("{}👍\u{1f3fd}y", x(46)), format!("{}…", x(46))),
            (format!("{}\u{1100}\u{1161}\u{11a8}yy", x(45)), format!("{}…", x(45))),
            ("\u{301}".repeat(60), "…".to_owned()),
            (format!("{}👩\u{200d}🚀yy", x(45)), format!("{}…", x(45))),
            (format!("{}👩\u{200d}🚀yy", x(44)), format!("{}👩\u{200d}🚀…", x(44))),
        ] {
            assert_eq!(capped(&label), expected, "{label}");
        }
    }

    #[test]
    fn chips() {
        let key: Key = KEY.parse().unwrap();
        let chip = Chip::new(&format!(" Ada ({KEY}) 2 "), key, Kind::Agent);
        assert_eq!((chip.text.as_str(), chip.label.len()), ("Ada (150b20bd…15dc) 2", 72));
        for (label, expected) in [
            ("Ada", false),
            ("Ada (abcd)", false),
            (KEY, true),
            (&format!("Ada ({KEY}) 2"), true),
            (&format!("Ada ({KEY}) 02"), false),
        ] {
            assert_eq!(is_full_key_label(label), expected, "{label}");
        }
        assert!(has_bidi_controls("a\u{202e}b") && !has_bidi_controls("עלי"));
    }

    #[test]
    fn chip_texts() {
        let long = "y".repeat(60);
        let cut = format!("@{}…", "y".repeat(47));
        let qualified = format!("{} ({KEY})", "z".repeat(40));
        let shown = format!("{} (150b20bd…15dc)", "z".repeat(40));
        let capped = format!("{} (150b2…", "z".repeat(40));
        for (text, label, sign, expected) in [
            ("@Ada King", "Ada King", '@', ChipMatch::Full),
            ("@@x", "@x", '@', ChipMatch::Full),
            ("@x", "@x", '@', ChipMatch::Full),
            ("#general", "General", '#', ChipMatch::Full),
            ("@general", "General", '#', ChipMatch::Fragment),
            ("", "", '@', ChipMatch::Fragment),
            ("@", "Ada", '@', ChipMatch::Fragment),
            (&cut, &long, '@', ChipMatch::Truncated),
            (&shown, &qualified, '@', ChipMatch::Truncated),
            (&capped, &qualified, '@', ChipMatch::Truncated),
            (&shown, &qualified, '#', ChipMatch::Fragment),
        ] {
            assert_eq!(ChipMatch::of(text, label, sign, KEY.parse().ok()), expected, "{text}");
        }
    }

    proptest! {
        /// What is shown of a long label is the beginning of it, in whole visible characters.
        #[test]
        fn a_cut_label_is_a_prefix(label in "[a-c\u{301}\u{200d}\u{1f469}\u{1f3fd}\u{11a8}]{0,80}") {
            let shown = capped(&label);
            prop_assert!(shown.chars().count() <= limits::CHIP);
            if let Some(head) = shown.strip_suffix('…') {
                let is_whole = label.starts_with(head) && !head.ends_with('\u{200d}');
                prop_assert!(is_whole);
                let mut at = 0;
                while at < head.len() {
                    at = visible_end(&label, at, usize::MAX - 1).unwrap_or(label.len());
                }
                prop_assert_eq!(at, head.len());
            }
        }
    }
}
