//! Untrusted text on a terminal: shown, never obeyed.

use std::fmt::Write;

/// Whether a terminal may act on the character, or a reader be misled by it: control characters,
/// directional controls, and characters that cannot be seen.
fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// One line of text in which every dangerous character is written as `\u{...}`.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_dangerous(character) {
            let _ = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// The lines of a text, each fit for a terminal. Only LF breaks lines, and tabs stay.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    let fit = |part: &str| part.split('\t').map(line).collect::<Vec<_>>().join("\t");
    text.split('\n').map(fit).collect::<Vec<_>>().into_iter()
}

/// JSON on one line in which dangerous characters are escaped, so that a terminal may show it.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    let plain = serde_json::to_string(value).expect("values have string keys");
    let mut out = String::with_capacity(plain.len());
    for character in plain.chars() {
        if is_dangerous(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// The columns that a line takes on a terminal.
pub(crate) fn width(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_a_command() {
        let hostile = "a\x1b[31mred\x07\u{9b}2J\u{202e}evil\u{2028}\r\0\u{7f}é👩\u{200d}👧";
        assert_eq!(
            line(hostile),
            r"a\u{1b}[31mred\u{7}\u{9b}2J\u{202e}evil\u{2028}\u{d}\u{0}\u{7f}é👩".to_owned() + "\u{200d}👧"
        );
        assert_eq!(lines("one\n\ttwo\r\n").collect::<Vec<_>>(), ["one", "\ttwo\\u{d}", ""]);
        let written = json(&hostile);
        assert!(written.chars().all(|character| !is_dangerous(character)));
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), hostile);
        assert_eq!(json(&"\u{e0041}"), r#""\udb40\udc41""#);
    }
}
