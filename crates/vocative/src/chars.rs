//! Classes of characters (G-2 to G-6) and the scripts written without spaces.
//!
//! Everything here judges one character. What stands around it is the business of [`crate::boundary`].

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// What a character is to the boundary rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A space or line end (G-2).
    Space,
    /// A letter, mark or number of a script written with spaces (G-3).
    Token,
    /// A letter, mark or number of one of G-3's scripts.
    Unspaced,
    /// A connector (G-4).
    Connector,
    /// `@`, `/` or `\` (G-5).
    Stop,
    /// Anything else.
    Other,
}

const ASCII: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut i = 0;
    while i < 128 {
        let c = i as u8;
        table[i] = match c {
            b'\t'..=b'\r' | b' ' => Class::Space,
            b'@' | b'/' | b'\\' => Class::Stop,
            b'_' | b'.' | b'-' | b'+' | b'\'' => Class::Connector,
            _ if c.is_ascii_alphanumeric() => Class::Token,
            _ => Class::Other,
        };
        i += 1;
    }
    table
};

/// The class of a character.
#[inline]
pub(crate) fn class(c: char) -> Class {
    if c.is_ascii() { ASCII[c as usize] } else { class_beyond_ascii(c) }
}

fn class_beyond_ascii(c: char) -> Class {
    if is_space(c) {
        Class::Space
    } else if is_connector(c) {
        Class::Connector
    } else if is_word(c) {
        if is_unspaced(c) { Class::Unspaced } else { Class::Token }
    } else {
        Class::Other
    }
}

/// A space (G-2): White_Space, U+FEFF or U+200B.
#[inline]
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

/// A line end (G-2).
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A character of category Zs: what may stand for a space inside a label (G-8).
#[inline]
pub(crate) fn is_zs(c: char) -> bool {
    c == ' ' || !c.is_ascii() && c.general_category() == GeneralCategory::SpaceSeparator
}

/// A letter, mark or number of any script.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark | GeneralCategoryGroup::Number
    )
}

/// A letter of any script.
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        c.general_category_group() == GeneralCategoryGroup::Letter
    }
}

/// A mark (M*).
#[inline]
pub(crate) fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Punctuation (P*) beyond ASCII.
pub(crate) fn is_wide_punctuation(c: char) -> bool {
    !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation
}

fn is_connector(c: char) -> bool {
    matches!(
        c,
        '_' | '.'
            | '-'
            | '+'
            | '\''
            | '\u{2019}'
            | '\u{b7}'
            | '\u{30fb}'
            | '\u{30a0}'
            | '\u{ff65}'
            | '\u{2010}'
            | '\u{2011}'
            | '\u{5be}'
            | '\u{5f3}'
            | '\u{5f4}'
    )
}

/// A character that belongs to the visible character before it (G-6).
#[inline]
pub(crate) fn is_continuing(c: char) -> bool {
    !c.is_ascii()
        && (matches!(
            c,
            '\u{1160}'..='\u{11ff}'
                | '\u{d7b0}'..='\u{d7ff}'
                | '\u{1f3fb}'..='\u{1f3ff}'
                | '\u{200d}'
                | '\u{ff9e}'
                | '\u{ff9f}'
        ) || is_mark(c))
}

/// A character of G-3's scripts, whatever its category.
pub(crate) fn is_unspaced(c: char) -> bool {
    !c.is_ascii() && (!Scripts::of(c).is_empty() || is_kana_mark(c) || matches!(c, '\u{ff9e}' | '\u{ff9f}'))
}

/// A length or repeat mark: it has the script of the kana before it (G-13).
pub(crate) fn is_kana_mark(c: char) -> bool {
    matches!(c, '\u{30fc}' | '\u{ff70}' | '\u{3031}'..='\u{3035}')
}

/// A set of G-3's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scripts(u16);

impl Scripts {
    pub(crate) const NONE: Self = Self(0);
    const HAN: Self = Self(1);
    const HIRAGANA: Self = Self(2);
    const KATAKANA: Self = Self(4);
    pub(crate) const KANA: Self = Self(Self::HIRAGANA.0 | Self::KATAKANA.0);

    /// The script of a character by itself; none for the marks that take it from their neighbours.
    pub(crate) fn of(c: char) -> Self {
        // Below Thai there are only two tone marks of Bopomofo.
        if c < '\u{e00}' && !matches!(c, '\u{2ea}' | '\u{2eb}') {
            return Self::NONE;
        }
        match c.script() {
            Script::Han => Self::HAN,
            Script::Hiragana => Self::HIRAGANA,
            Script::Katakana => Self::KATAKANA,
            Script::Bopomofo => Self(8),
            Script::Hangul => Self(16),
            Script::Thai => Self(32),
            Script::Lao => Self(64),
            Script::Khmer => Self(128),
            Script::Myanmar => Self(256),
            Script::Tibetan => Self(512),
            _ if matches!(c, '\u{3006}' | '\u{303c}') => Self::HAN,
            _ => Self::NONE,
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        for (characters, expected) in [
            (" \n\u{a0}\u{3000}\u{feff}\u{200b}\u{85}", Class::Space),
            ("aZ9éЖع²①\u{301}Ａ１ʼ", Class::Token),
            ("太ぁアㄅ한ไລខမཀ々ー\u{ff9e}〆", Class::Unspaced),
            ("_.-+'’·・\u{30a0}\u{2011}\u{5be}", Class::Connector),
            ("@/\\", Class::Stop),
            ("😀(\u{200e}\u{ad}。、…—$<\u{200d}", Class::Other),
        ] {
            for c in characters.chars() {
                assert_eq!(class(c), expected, "{c:?} U+{:04X}", c as u32);
            }
        }
    }

    #[test]
    fn marks_and_joiners_continue_a_visible_character() {
        for c in "\u{301}\u{fe0f}\u{20dd}\u{200d}\u{1161}\u{11a8}\u{1f3fd}\u{ff9e}ั".chars() {
            assert!(is_continuing(c), "U+{:04X}", c as u32);
        }
        for c in "a가ー😀\u{200c}".chars() {
            assert!(!is_continuing(c), "U+{:04X}", c as u32);
        }
    }
}
