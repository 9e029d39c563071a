//! Labels by themselves: trimming and length (G-9), and the qualified shape (G-14).

use crate::boundary::right_is_fine;
use crate::chars::{is_line_end, is_space, is_zs};
use crate::id::Key;
use crate::limits;

/// Why a name cannot be a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// More than 512 code points after trimming (N-17).
    #[error("the name is longer than {max} characters; shorten it", max = limits::LABEL)]
    TooLong,
}

impl LabelError {
    /// The stable code of this error.
    pub fn code(self) -> &'static str {
        match self {
            Self::TooLong => "label_too_long",
        }
    }
}

/// The label without spaces at its ends (G-9).
pub fn trim(label: &str) -> &str {
    label.trim_matches(is_space)
}

/// The trimmed label, where it can match at all (G-9): not empty, without a line end, not too long.
pub(crate) fn matchable(label: &str) -> Result<Option<&str>, LabelError> {
    let label = trim(label);
    // A code point has at most four bytes, so most labels need no counting.
    if label.len() > limits::LABEL && label.chars().nth(limits::LABEL).is_some() {
        return Err(LabelError::TooLong);
    }
    Ok(Some(label).filter(|label| !label.is_empty() && !label.contains(is_line_end)))
}

/// A label of the shape `BASE (KEY)` or `BASE (KEY) n` (G-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qualified<'l> {
    /// What stands before the key.
    pub base: &'l str,
    /// The key in brackets.
    pub key: Key,
    /// The collision number, as its digits stand.
    pub number: Option<&'l str>,
}

/// The parts of a qualified label (G-14).
pub fn qualified(label: &str) -> Option<Qualified<'_>> {
    let (head, number) = match label.strip_suffix(')') {
        Some(_) => (label, None),
        None => {
            let digits = label.len() - label.bytes().rev().take_while(u8::is_ascii_digit).count();
            let number = Some(&label[digits..]).filter(|digits| is_collision_number(digits))?;
            let mut head = label[..digits].chars();
            head.next_back().filter(|&c| is_zs(c))?;
            (head.as_str(), Some(number))
        }
    };
    let head = head.strip_suffix(')')?;
    let open = head.len().checked_sub(Key::DIGITS)?;
    let key = head.get(open..)?.parse().ok()?;
    let mut base = head[..open].strip_suffix('(')?.chars();
    base.next_back().filter(|&c| is_zs(c))?;
    let base = base.as_str();
    (!trim(base).is_empty()).then_some(Qualified { base, key, number })
}

fn is_collision_number(digits: &str) -> bool {
    !digits.is_empty()
        && !digits.starts_with('0')
        && digits != "1"
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Where the longer literal ends that keeps a label from owning `sign..end` (G-15), if one follows.
pub(crate) fn guard_end(text: &str, sign: usize, end: usize) -> Option<usize> {
    let after = text[end..].chars().next().filter(|&c| is_zs(c))?;
    let from = end + after.len_utf8();
    let rest = &text[from..];
    if let Some(bracketed) = rest.strip_prefix('(') {
        let digits = bracketed.get(..Key::DIGITS)?;
        let closed = bracketed[Key::DIGITS..].starts_with(')') && digits.parse::<Key>().is_ok();
        return closed.then_some(from + Key::DIGITS + 2);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !is_collision_number(&rest[..digits]) {
        return None;
    }
    let label = &text[sign + 1..end];
    let guards = qualified(label).is_some_and(|parts| parts.number.is_none());
    let end = from + digits;
    (guards && right_is_fine(text, sign, end)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_labels() {
        let key = "9c".repeat(32);
        for (label, expected) in [
            (format!("Ada ({key})"), Some(("Ada", None))),
            (format!("Ada King\u{a0}({}) 12", key.to_uppercase()), Some(("Ada King", Some("12")))),
            (format!("Ada ({key}) 02"), None),
            (format!("Ada ({key}) 1"), None),
            (format!("Ada ({key})2"), None),
            (format!("Ada({key})"), None),
            (format!(" ({key})"), None),
            (format!("Ada ({key}0)"), None),
            (format!("Ada ({key}) x"), None),
            ("Ada".into(), None),
            (String::new(), None),
            (")".into(), None),
        ] {
            let parts = qualified(&label);
            assert_eq!(parts.map(|parts| (parts.base, parts.number)), expected, "{label}");
        }
    }

    #[test]
    fn lengths() {
        assert_eq!(matchable(&"é".repeat(512)), Ok(Some("é".repeat(512).as_str())));
        assert_eq!(matchable(&"é".repeat(513)), Err(LabelError::TooLong));
        assert_eq!(matchable(&format!(" {} ", "x".repeat(512))).map(|l| l.is_some()), Ok(true));
        assert_eq!(matchable(" \u{feff}\n"), Ok(None));
        assert_eq!(matchable("a\nb"), Ok(None));
    }
}
