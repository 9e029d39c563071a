//! The comparison form of a label (G-7) and the visible characters it is made of.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::chars::{is_continuing, is_zs};

/// The comparison form: NFC(fold(NFC(x))) with every Zs character read as U+0020 (G-7).
///
/// Two labels are equal when their forms are. The form is for comparing only; a text keeps its bytes.
pub fn form(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_form(text, &mut out);
    out
}

/// Appends the form of `text`.
pub(crate) fn push_form(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(text.bytes().map(|b| char::from(b.to_ascii_lowercase())));
    } else {
        let spaced = text.chars().map(|c| if is_zs(c) { ' ' } else { c });
        out.extend(spaced.nfc().default_case_fold().nfc());
    }
}

/// The end of the visible character that begins at `start`: one character and those that continue it
/// (G-6); none where more than `longest` continue it.
///
/// Forms are taken visible character by visible character: no character that begins one ever
/// composes with what stands before it, so the form of a text is its visible characters' forms in
/// a row. A test walks all of Unicode for that. U+16D67 is a letter and composes all the same; no
/// label may end before it, since a letter refuses its right side (G-13).
pub(crate) fn visible_end(text: &str, start: usize, longest: usize) -> Option<usize> {
    let mut rest = text[start..].char_indices().skip(1);
    let next = rest.by_ref().take(longest + 1).find(|&(_, c)| !is_continuing(c) && c != '\u{16d67}');
    match next {
        Some((at, _)) => Some(start + at),
        None => rest.next().is_none().then_some(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_different_labels() {
        for (a, b, equal) in [
            ("STRASSE", "Straße", true),
            ("Zoe\u{308}", "Zoë", true),
            ("İpek", "Ipek", false),
            ("i\u{307}pek", "İpek", true),
            ("ſam", "Sam", true),
            ("ﬁsh", "FISH", true),
            ("Kelvin", "kelvin", true),
            ("οδος", "ΟΔΟΣ", true),
            ("Ada\u{a0}K", "ada k", true),
            ("Ada\tK", "ada k", false),
            ("a\u{302}\u{323}", "\u{1ead}", true),
            ("Mark", "Mаrk", false),
        ] {
            assert_eq!(form(a) == form(b), equal, "{a} {b}");
        }
    }

    #[test]
    fn whatever_composes_backwards_ends_no_visible_character() {
        for c in '\0'..=char::MAX {
            let whole: String = std::iter::once(c).nfd().collect();
            assert_eq!(visible_end(&whole, 0, 32), Some(whole.len()), "U+{:04X}", c as u32);
        }
    }

    #[test]
    fn the_form_of_a_text_is_the_forms_of_its_visible_characters() {
        // A character that begins a visible character must never reach back over the boundary.
        for c in ('\0'..=char::MAX).filter(|&c| !is_continuing(c) && c != '\u{16d67}') {
            let alone = form(c.encode_utf8(&mut [0; 4]));
            for before in ["a", "가", "e\u{301}", "α", "か", "\u{1100}"] {
                let together = form(&format!("{before}{c}"));
                assert_eq!(together, form(before) + &alone, "{before} U+{:04X}", c as u32);
            }
        }
    }
}
