//! What may stand before and after a mention (G-11 to G-13), and name tokens (D-8).
//!
//! Every function looks at raw characters, whatever their context. Markdown escapes are looked
//! through on both sides: the escaped character is judged.

use crate::chars::{
    Class, Scripts, class, is_continuing, is_kana_mark, is_letter, is_mark, is_space, is_word,
};

/// Whether the character before `sign` lets a mention begin there (G-11).
pub(crate) fn left_is_fine(text: &str, sign: usize) -> bool {
    let Some(before) = Judged::before(text, sign) else {
        return true;
    };
    match before.class {
        Class::Token | Class::Stop => false,
        Class::Connector => {
            let mut run = before;
            if run.is('.') && Judged::single_before(text, run.start).is_some_and(|c| c.is('.')) {
                return true;
            }
            loop {
                let Some(next) = Judged::before(text, run.start) else {
                    return true;
                };
                match next.class {
                    Class::Connector => run = next,
                    Class::Token | Class::Stop => return false,
                    _ => return true,
                }
            }
        }
        _ => true,
    }
}

/// Whether exactly one `/` or connector joins the accepted range that ends at `end` to `sign` (G-12).
pub(crate) fn is_joined(text: &str, end: usize, sign: usize) -> bool {
    let between = text.get(end..sign).and_then(|between| Judged::after(between, 0));
    between.is_some_and(|c| end + c.end == sign && (c.class == Class::Connector || c.is('/')))
}

/// Whether a label may end at `end`, for a mention whose sign stands at `sign` (G-13).
pub(crate) fn right_is_fine(text: &str, sign: usize, end: usize) -> bool {
    // Most labels end before a space or a punctuation mark.
    match text.as_bytes().get(end) {
        None | Some(b' ' | b',' | b'!' | b'?' | b':' | b';' | b')' | b'\n') => return true,
        Some(b) if b.is_ascii_alphanumeric() => return false,
        _ => {}
    }
    let rest = &text[end..];
    let visible = rest.trim_start_matches(['\u{ad}', '\u{200c}', '\u{2060}']);
    let at = text.len() - visible.len();
    let Some(next) = Judged::after(text, at) else {
        return true;
    };
    if at > end && is_word(next.char) || is_continuing(next.char) {
        return false;
    }
    match next.class {
        Class::Space | Class::Other => true,
        Class::Token => false,
        Class::Unspaced => !same_script(text, sign, end, at),
        Class::Stop => match next.char {
            '@' => !ends_like_a_word(text, sign, end),
            '/' => is_open_after(text, next.end, true),
            _ => is_open_after(text, next.end, false),
        },
        Class::Connector => connectors_are_fine(text, sign, end, next),
    }
}

/// The connector rows of G-13: a clitic, an ellipsis, or the whole run of connectors.
fn connectors_are_fine(text: &str, sign: usize, end: usize, first: Judged) -> bool {
    if clitic_end(text, first).is_some() {
        return true;
    }
    let second = Judged::after(text, first.end);
    if first.is('.') && second.is_some_and(|c| c.is('.')) {
        let mut after = second;
        while let Some(c) = after.filter(|c| c.is('.')) {
            after = Judged::after(text, c.end);
        }
        return !after.is_some_and(|c| c.is('/') || c.is('\\'));
    }
    let (mut length, mut run_end, mut after) = (1, first.end, second);
    while let Some(c) = after.filter(|c| c.class == Class::Connector) {
        (length, run_end) = (length + 1, c.end);
        after = Judged::after(text, c.end);
    }
    match after {
        None => true,
        Some(c) if c.is('@') => length == 1,
        Some(c) => match c.class {
            Class::Token | Class::Stop => false,
            Class::Unspaced => !same_script(text, sign, end, run_end),
            _ => true,
        },
    }
}

/// After `/` or `\`: the end, a space, or (for `/`) a sign.
fn is_open_after(text: &str, at: usize, sign_too: bool) -> bool {
    text[at..].chars().next().is_none_or(|c| is_space(c) || sign_too && c == '@')
}

/// Whether the label that ends at `end` ends in a token character or a connector (G-13, row `@`).
fn ends_like_a_word(text: &str, sign: usize, end: usize) -> bool {
    let label = &text[sign_end(text, sign)..end];
    match base_before(label, label.len()) {
        Base::Character(c, _) => matches!(class(c), Class::Token | Class::Connector),
        Base::Keycap => false,
        Base::Missing => true,
    }
}

/// Whether the character at `at` is a letter, mark or number with a script of the label's last
/// character (G-13); none of the spaced scripts counts.
pub(crate) fn same_script(text: &str, sign: usize, end: usize, at: usize) -> bool {
    let from = sign_end(text, sign);
    let Some(next) = text[at..].chars().next() else {
        return false;
    };
    if !is_word(next) {
        return false;
    }
    let mut last = end;
    // U+FF9E and U+FF9F belong to the kana before them (G-6), as marks do.
    while let Some(c) = text[from..last].chars().next_back() {
        if !is_mark(c) && !matches!(c, '\u{ff9e}' | '\u{ff9f}') {
            return scripts_at(text, from, last - c.len_utf8(), c).meets(scripts_at(text, from, at, next));
        }
        last -= c.len_utf8();
    }
    false
}

/// The scripts of the character `c` at `at`. A length mark has those of the nearest kana before it,
/// not past the sign (G-13).
fn scripts_at(text: &str, from: usize, at: usize, c: char) -> Scripts {
    if !is_kana_mark(c) {
        return Scripts::of(c);
    }
    let kana = text[from..at].chars().rev().filter(|&c| !is_kana_mark(c)).map(Scripts::of);
    let mut kana = kana.filter(|scripts| scripts.meets(Scripts::KANA));
    kana.next().unwrap_or(Scripts::KANA)
}

fn sign_end(text: &str, sign: usize) -> usize {
    sign + text[sign..].chars().next().map_or(0, char::len_utf8)
}

/// The end of a possessive or short form that begins with the apostrophe `first` (G-13).
fn clitic_end(text: &str, first: Judged) -> Option<usize> {
    if !first.is('\'') && !first.is('\u{2019}') {
        return None;
    }
    let rest = &text.as_bytes()[first.end..];
    ["s", "d", "m", "ll", "re", "ve"].iter().find_map(|form| {
        let matches = rest.get(..form.len())?.eq_ignore_ascii_case(form.as_bytes());
        let end = first.end + form.len();
        let goes_on = || text[end..].chars().next().is_some_and(|c| class(c) == Class::Token);
        (matches && !goes_on()).then_some(end)
    })
}

/// A character as the boundary rules see it: marks and escapes looked through.
#[derive(Clone, Copy)]
struct Judged {
    char: char,
    class: Class,
    /// Where it begins, an escaping `\` included.
    start: usize,
    end: usize,
}

impl Judged {
    fn is(self, c: char) -> bool {
        self.char == c
    }

    /// The character that ends at `end`, escapes looked through, marks as they are.
    fn single_before(text: &str, end: usize) -> Option<Self> {
        let c = text[..end].chars().next_back()?;
        let start = end - c.len_utf8();
        let slashes = |end: usize| text.as_bytes()[..end].iter().rev().take_while(|&&b| b == b'\\').count();
        let escaped = match c {
            '\\' => slashes(end).is_multiple_of(2),
            '@' => false,
            _ => c.is_ascii_punctuation() && !slashes(start).is_multiple_of(2),
        };
        Some(Self { char: c, class: class(c), start: start - usize::from(escaped), end })
    }

    /// The character that ends at `end`, marks looked through to their base (G-11).
    fn before(text: &str, end: usize) -> Option<Self> {
        let single = Self::single_before(text, end)?;
        if !is_mark(single.char) {
            return Some(single);
        }
        match base_before(text, end) {
            Base::Character(_, base_end) => Self::single_before(text, base_end),
            Base::Keycap => Some(Self { class: Class::Other, ..single }),
            Base::Missing => Some(Self { class: Class::Token, ..single }),
        }
    }

    /// The character at `start`, escapes looked through.
    fn after(text: &str, start: usize) -> Option<Self> {
        let mut rest = text[start..].chars();
        let c = rest.next()?;
        let escaped =
            if c == '\\' { rest.next().filter(|&c| c.is_ascii_punctuation() && c != '@') } else { None };
        let char = escaped.unwrap_or(c);
        let end = start + c.len_utf8() + escaped.map_or(0, char::len_utf8);
        Some(Self { char, class: class(char), start, end })
    }
}

/// What a run of marks stands on.
enum Base {
    /// A character, and where it ends.
    Character(char, usize),
    /// Something under U+20E3: a keycap, an emoji.
    Keycap,
    /// Nothing: the marks are first in the text.
    Missing,
}

/// The character that ends at `end`, marks looked through.
fn base_before(text: &str, end: usize) -> Base {
    let mut keycap = false;
    let mut base_end = end;
    for c in text[..end].chars().rev() {
        if !is_mark(c) {
            return if keycap { Base::Keycap } else { Base::Character(c, base_end) };
        }
        keycap |= c == '\u{20e3}';
        base_end -= c.len_utf8();
    }
    Base::Missing
}

/// What follows a sign, read as a name (D-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameToken {
    /// No name: nothing, a mark, or only numbers.
    None,
    /// A name that ends here.
    Name(usize),
    /// The first part of a path; it ends here.
    Path(usize),
}

/// The name token that begins at `start`, right behind a sign (D-8).
pub(crate) fn name_token(text: &str, start: usize) -> NameToken {
    let rest = &text[start..];
    if rest.chars().next().is_none_or(is_mark) {
        return NameToken::None;
    }
    let mut end = start;
    let mut letters = false;
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        let connects = class(c) == Class::Connector;
        if connects {
            let first = Judged { char: c, class: Class::Connector, start: at, end: at + c.len_utf8() };
            let stands_between = at == end && end > start;
            if !stands_between || clitic_end(text, first).is_some() {
                break;
            }
        } else if is_word(c) {
            letters |= is_letter(c);
            end = at + c.len_utf8();
        } else {
            break;
        }
        at += c.len_utf8();
    }
    if !letters {
        return NameToken::None;
    }
    let is_path = Judged::after(text, end)
        .is_some_and(|c| (c.is('/') || c.is('\\')) && !is_open_after(text, c.end, true));
    if is_path { NameToken::Path(end) } else { NameToken::Name(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_sign() {
        for before in [
            "-\u{301}",
            "1\u{20e3}",
            "1\u{20e3}_",
            "a\u{20e3}",
            "太\u{3099}",
            "太_",
            "x..",
            "x\\.\\.",
            "/..",
            "x_..",
            "\\_",
            "\\\\\\[",
            "\\太",
            "a\\!",
            "ー",
            "\u{3164}",
            "x\u{200c}",
            "\\\\..",
        ] {
            assert!(left_is_fine(&format!("{before}@Ada"), before.len()), "{before:?}");
        }
        for before in [
            "\u{301}",
            "a\u{301}",
            "a_\u{301}",
            "a\u{301}_",
            "\u{20e3}",
            "x._.",
            "x\\.",
            "/.",
            "\\\\_",
            "\\a",
            "\\/",
            "\\\\",
            "x\\'",
            "x\u{5be}",
            "ª",
            "Ⅷ",
            "\u{1d7d8}",
        ] {
            assert!(!left_is_fine(&format!("{before}@Ada"), before.len()), "{before:?}");
        }
    }

    #[test]
    fn behind_a_label() {
        let is_fine =
            |label: &str, after: &str| right_is_fine(&format!("@{label}{after}"), 0, 1 + label.len());
        for (label, afters) in [
            (
                "Ada",
                &["\u{ad}", "\u{2060}!", "\u{200c}'s", "\u{200c}/ x", "/@x", "\\/@x", "\\\\", "\\!x", "\\'s"]
                    [..],
            ),
            (
                "Ada",
                &[
                    "'s/x",
                    "'s.com",
                    "'s太",
                    "’LL",
                    "'d'm",
                    "..@x",
                    "...\\_x",
                    "-\u{200d}x",
                    "-\\!",
                    "-\u{ff9e}",
                    ".@",
                ],
            ),
            ("太", &["さ", "ー", "-さ", "・ー", "...郎", "@x", "\u{200c}!", "한"]),
            ("さー", &["サ"]),
            ("サ太ー", &["さ", "太"]),
            ("a!", &["@x", "-@", "太"]),
            ("1\u{fe0f}\u{20e3}", &["@x"]),
            ("太!", &["郎"]),
        ] {
            for after in afters {
                assert!(is_fine(label, after), "{label} {after:?}");
            }
        }
        for (label, afters) in [
            (
                "Ada",
                &[
                    "\u{ad}x",
                    "\u{200c}太",
                    "\u{2060}\u{ad}\u{301}",
                    "\u{200c}\u{1f3fd}",
                    "\u{200c}@x",
                    "\u{200c}/x",
                ][..],
            ),
            (
                "Ada",
                &[
                    "//",
                    "/太",
                    "\\/x",
                    "\\@x",
                    "\\太",
                    "\\\\\\",
                    "\\'x",
                    "\\.\\./x",
                    "'s\u{301}",
                    "''s",
                    "'es",
                    "'s٣",
                ],
            ),
            ("Ada", &["..\\", "...\\\\ ", ".-.x", "--@x", "-\u{301}", "-\\\\", "\u{5f4}x", "@"]),
            ("太", &["々", "〆", "\u{303c}", "-郎", "・郎", "'太", "\u{200c}郎", "x"]),
            ("サ", &["ー", "ｱ", "\u{ff70}", "・ー"]),
            ("ー", &["さ", "サ", "ー"]),
            ("サさー", &["さ"]),
            ("a-", &["@x", "x"]),
            ("\u{301}", &["@x"]),
            ("〆", &["太"]),
        ] {
            for after in afters {
                assert!(!is_fine(label, after), "{label} {after:?}");
            }
        }
    }

    #[test]
    fn joined_signs() {
        for (between, expected) in [
            ("/", true),
            ("\\/", true),
            ("·", true),
            ("\\\\", false),
            ("//", false),
            ("", false),
            ("a", false),
        ] {
            for label in ["@Ada", "@Ada\\"] {
                let text = format!("{label}{between}@Bo");
                let is_escaped = label.ends_with('\\') && between.starts_with('\\');
                let joined = is_joined(&text, label.len(), label.len() + between.len());
                assert!(joined == expected || is_escaped, "{text}");
            }
        }
    }

    /// `|` marks the place; the sign and everything else stand as they are.
    #[test]
    fn name_tokens() {
        for (text, expected) in [
            ("Bob|'s", "Bob"),
            ("jo-ann.lee|. and", "jo-ann.lee"),
            ("太郎です|", "太郎です"),
            ("Zed·x|", "Zed·x"),
            ("علی|\u{200c}رضا", "علی"),
            ("a|--b", "a"),
            ("o'neil|", "o'neil"),
        ] {
            let at = text.find('|').unwrap();
            assert_eq!(name_token(&text.replace('|', ""), 0), NameToken::Name(at), "{text} {expected}");
        }
        for text in ["-mention", " x", "5", "5-6", "", "\u{301}x", "(a)"] {
            assert_eq!(name_token(text, 0), NameToken::None, "{text}");
        }
        for text in ["scope/pkg", "a\\b", "a\\\\b"] {
            assert!(matches!(name_token(text, 0), NameToken::Path(_)), "{text}");
        }
        for text in ["Zed/@Grace", "Zed/ x", "Zed/", "Zed\\*", "Zed\\"] {
            assert!(matches!(name_token(text, 0), NameToken::Name(3)), "{text}");
        }
    }
}
