//! Positions in a text.
//!
//! Inside the engine a position is a [`ByteOffset`]: UTF-8 bytes, always on a character boundary.
//! UTF-16 appears in [`Utf16Map`] only, for surfaces whose strings are counted that way.

use std::ops::Range;

use serde::Serialize;

/// A position in a text, in UTF-8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ByteOffset(usize);

impl ByteOffset {
    /// The offset `bytes` of `text`, where it lies on a character boundary.
    pub fn new(text: &str, bytes: usize) -> Option<Self> {
        text.is_char_boundary(bytes).then_some(Self(bytes))
    }

    /// For positions the engine has found itself.
    pub(crate) fn at(bytes: usize) -> Self {
        Self(bytes)
    }

    /// The number of bytes before this position.
    pub fn get(self) -> usize {
        self.0
    }
}

/// A half-open range of a text, in UTF-8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// Where it begins.
    pub start: ByteOffset,
    /// Where it ends, exclusive.
    pub end: ByteOffset,
}

impl Span {
    /// The range of `text`, where both ends lie on character boundaries in order.
    pub fn new(text: &str, range: Range<usize>) -> Option<Self> {
        let start = ByteOffset::new(text, range.start)?;
        let end = ByteOffset::new(text, range.end)?;
        (start <= end).then_some(Self { start, end })
    }

    /// For ranges the engine has found itself.
    pub(crate) fn at(start: usize, end: usize) -> Self {
        debug_assert!(start <= end);
        Self { start: ByteOffset(start), end: ByteOffset(end) }
    }

    /// The range as plain byte numbers, for slicing.
    pub fn bytes(self) -> Range<usize> {
        self.start.0..self.end.0
    }

    /// The piece of `text` in this range.
    pub fn of(self, text: &str) -> &str {
        &text[self.bytes()]
    }

    /// The length in bytes.
    pub fn len(self) -> usize {
        self.end.0 - self.start.0
    }

    /// Whether nothing lies in the range.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Converts between UTF-8 and UTF-16 positions of one text.
///
/// Built in one pass over the text; each conversion reads at most 64 bytes of it.
pub struct Utf16Map<'t> {
    text: &'t str,
    /// The number of UTF-16 units before each 64th byte, rounded down to a boundary.
    steps: Vec<usize>,
}

const STEP: usize = 64;

impl<'t> Utf16Map<'t> {
    /// The map of `text`.
    pub fn new(text: &'t str) -> Self {
        let mut steps = Vec::new();
        if !text.is_ascii() {
            let mut units = 0;
            for (at, c) in text.char_indices() {
                while steps.len() * STEP < at + c.len_utf8() {
                    steps.push(units);
                }
                units += c.len_utf16();
            }
        }
        Self { text, steps }
    }

    /// Bytes at which the step `n` begins: the character boundary at or before `n * STEP`.
    fn boundary(&self, n: usize) -> usize {
        let mut at = (n * STEP).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// The UTF-16 units before `offset`.
    pub fn to_utf16(&self, offset: ByteOffset) -> usize {
        let bytes = offset.get().min(self.text.len());
        if self.steps.is_empty() {
            return bytes;
        }
        let step = (bytes / STEP).min(self.steps.len() - 1);
        let from = self.boundary(step);
        self.steps[step] + self.text[from..bytes].chars().map(char::len_utf16).sum::<usize>()
    }

    /// The position that `units` UTF-16 units precede; none inside a surrogate pair or past the end.
    pub fn to_bytes(&self, units: usize) -> Option<ByteOffset> {
        if self.steps.is_empty() {
            return ByteOffset::new(self.text, units);
        }
        let step = self.steps.partition_point(|&before| before <= units).saturating_sub(1);
        let (mut at, mut count) = (self.boundary(step), self.steps[step]);
        for c in self.text[at..].chars() {
            if count >= units {
                break;
            }
            count += c.len_utf16();
            at += c.len_utf8();
        }
        (count == units).then_some(ByteOffset(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let long = "aé😀太".repeat(50);
        for text in ["", "abc", "😀 @hermes", long.as_str()] {
            let map = Utf16Map::new(text);
            let mut units = 0;
            for (at, c) in text.char_indices() {
                let offset = ByteOffset::new(text, at).unwrap();
                assert_eq!(map.to_utf16(offset), units, "{text} {at}");
                assert_eq!(map.to_bytes(units), Some(offset), "{text} {units}");
                if c.len_utf16() == 2 {
                    assert_eq!(map.to_bytes(units + 1), None);
                }
                units += c.len_utf16();
            }
            assert_eq!(map.to_utf16(ByteOffset(text.len())), units);
            assert_eq!(map.to_bytes(units), Some(ByteOffset(text.len())));
            assert_eq!(map.to_bytes(units + 1), None);
        }
        assert_eq!(ByteOffset::new("é", 1), None);
    }
}
