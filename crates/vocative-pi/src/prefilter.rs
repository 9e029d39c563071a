//! Finding the lines that may hold a marker without reading the rest as JSON (section 5.1).
//!
//! A JSON string that equals the marker's type without containing its bytes must spell one of its
//! letters or dots as `\u00XX`. So a line without the plain bytes and without `\u002e`, `\u006x`
//! or `\u007x` holds no marker, and needs no further look. Lines that are left are parsed, so
//! that the type inside a message's text does not count.

use std::io::{self, Read};
use std::ops::Range;

use memchr::memmem::Finder;

use crate::ids::EntryId;
use crate::json::Scratch;
use crate::line::{MARKER_TYPE, REDUCTION_TYPE, Record};
use crate::lines::{Block, Lines};
use crate::marker::Marker;
use crate::problem::{Code, Fault, Problem};

/// A marker that was found without a check of the file around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its line, counted from 1.
    pub line: u64,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// The id of its own entry.
    pub id: EntryId,
    /// What it says.
    pub marker: Marker,
}

/// Searches for the spellings of one type.
#[derive(Debug)]
pub struct Prefilter {
    plain: Finder<'static>,
    reduction: Finder<'static>,
    escape: Finder<'static>,
}

impl Default for Prefilter {
    fn default() -> Self {
        Self {
            plain: Finder::new(MARKER_TYPE),
            reduction: Finder::new(REDUCTION_TYPE),
            escape: Finder::new(r"\u00"),
        }
    }
}

impl Prefilter {
    /// The first place at or after `from` where a letter of the type may be escaped.
    fn find_escape(&self, block: &[u8], mut from: usize) -> Option<usize> {
        loop {
            let at = from + self.escape.find(&block[from..])?;
            let guarded = match block.get(at + 4..at + 6) {
                Some([b'2', b'e' | b'E']) => true,
                Some([b'6' | b'7', digit]) => digit.is_ascii_hexdigit(),
                _ => false,
            };
            if guarded {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// The first place at or after `from` that may belong to a spelling of the type. Both searches
    /// go over a part that fits the nearest cache before either goes on to the next.
    fn find(&self, block: &[u8], mut from: usize) -> Option<usize> {
        const PART: usize = 16 << 10;
        while from < block.len() {
            // A needle may begin at the end of one part and end in the next.
            let end = block.len().min(from + PART + MARKER_TYPE.len());
            let part = &block[from..end];
            let hits = [self.plain.find(part), self.find_escape(part, 0)];
            if let Some(hit) = hits.into_iter().flatten().min() {
                return Some(from + hit);
            }
            from += PART;
        }
        None
    }

    /// Calls `each` with the range of every line of the block that may hold a marker.
    fn candidates(&self, block: &[u8], mut each: impl FnMut(Range<usize>)) {
        let mut from = 0;
        while let Some(hit) = self.find(block, from) {
            let start = memchr::memrchr(b'\n', &block[..hit]).map_or(0, |at| at + 1);
            let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |at| hit + at);
            each(start..end);
            from = end;
        }
    }

    /// Whether the file may hold a marker, or may be a reduced artifact. A file of which this is
    /// false holds no evidence, whatever else it holds.
    ///
    /// # Errors
    /// What reading the source says.
    pub fn may_hold_evidence(&self, source: impl Read, max_line: usize) -> io::Result<bool> {
        let mut lines = Lines::new(source, 0, max_line);
        let mut first = true;
        loop {
            let block = match lines.block()? {
                Block::Lines(block) => block,
                Block::TooLong => return Ok(true),
                Block::Tail(_) | Block::End => return Ok(false),
            };
            // An artifact says so in its third line, and its first three lines are short up to
            // there; one that was cut short still has its id.
            if first {
                let head = &block[..block.len().min(4096)];
                if self.reduction.find(head).is_some() || memchr::memmem::find(head, b"zm1_").is_some() {
                    return Ok(true);
                }
            }
            first = false;
            if self.find(block, 0).is_some() {
                return Ok(true);
            }
        }
    }

    /// Finds every marker of a file, without a check of what stands around it: each is a claim.
    /// Line numbers cost a look at every byte; without `numbers` they are all 0.
    ///
    /// # Errors
    /// What reading the source says.
    pub fn markers(
        &self,
        source: impl Read,
        max_line: usize,
        numbers: bool,
        mut each: impl FnMut(Result<Found, Problem>),
    ) -> io::Result<()> {
        let mut lines = Lines::new(source, 0, max_line);
        let mut scratch = Scratch::default();
        let mut before = 0;
        loop {
            let offset = lines.offset();
            match lines.block()? {
                Block::Lines(block) => {
                    self.candidates(block, |range| {
                        let count = || before + 1 + count_lines(&block[..range.start]);
                        let number = || if numbers { count() } else { 0 };
                        if let Some(result) = found(&block[range.clone()], &mut scratch) {
                            each(result.map_err(|fault| fault.at(number(), None)).map(|(id, marker)| {
                                let offset = offset + range.start as u64;
                                Found { line: number(), offset, id, marker }
                            }));
                        }
                    });
                    before += if numbers { count_lines(block) } else { 0 };
                }
                Block::TooLong => {
                    before += 1;
                    let detail = format!("the line is longer than {max_line} bytes");
                    each(Err(Fault::new(Code::LineTooLong, detail).at(before, None)));
                }
                Block::Tail(_) | Block::End => return Ok(()),
            }
        }
    }
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

/// The marker on a line, if the line is one.
fn found(line: &[u8], scratch: &mut Scratch) -> Option<Result<(EntryId, Marker), Fault>> {
    let record = match Record::read(line, scratch) {
        Ok(record) if record.is_custom(MARKER_TYPE) => record,
        Ok(_) => return None,
        Err(fault) => return Some(Err(fault)),
    };
    let id = record.id.and_then(|id| EntryId::from_evidence(&id.string()?.text()?));
    let Some(id) = id else {
        return Some(Err(Fault::new(Code::MarkerId, "the marker's own id cannot be used in evidence")));
    };
    Some(Marker::read(record.data, scratch).map(|marker| (id, marker)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, custom_type: &str) -> String {
        let data = r#"{"schemaVersion":1,"actor":{"id":"github:a","handle":"A"},"recipients":[{"id":"github:b","handle":"b"}],"target":{"sessionId":"s","entryId":"e"}}"#;
        format!(r#"{{"type":"custom","customType":"{custom_type}","data":{data},"id":"{id}"}}"#)
    }

    #[test]
    fn escaped_spellings_are_found_and_text_is_not() {
        let text = [
            r#"{"type":"message","text":"chi.messaging.mentions"}"#.to_owned(),
            entry("plain", "chi.messaging.mentions"),
            entry("other", "chi.messaging.mention"),
            r#"{"nothing":"\u0041 here"}"#.to_owned(),
            entry("dot", r"chi\u002emessaging.mentions"),
            entry("upper", r"chi\u002Emessaging.mentions"),
            entry("letter", r"\u0063hi.messaging.mentions"),
            entry("seven", r"chi.messaging.men\u0074ions"),
            entry("hex", r"chi.messagi\u006Eg.mentions"),
        ]
        .join("\n")
            + "\n";
        let expected = [(2, "plain"), (5, "dot"), (6, "upper"), (7, "letter"), (8, "seven"), (9, "hex")];
        let mut found = Vec::new();
        let filter = Prefilter::default();
        filter
            .markers(text.as_bytes(), 1 << 20, true, |marker| {
                let marker = marker.unwrap();
                assert!(text[marker.offset as usize..].starts_with(&entry("", "")[..15]));
                found.push((marker.line, marker.id.as_str().to_owned()));
            })
            .unwrap();
        assert_eq!(found, expected.map(|(line, id)| (line, id.to_owned())));
        assert!(filter.may_hold_evidence(text.as_bytes(), 1 << 20).unwrap());
        assert!(!filter.may_hold_evidence("{\"nothing\":\"\\u0041\"}\n".as_bytes(), 1 << 20).unwrap());
    }

    proptest::proptest! {
        /// The prefilter finds what parsing every line finds, however letters are escaped.
        #[test]
        fn no_marker_is_missed(escapes in proptest::collection::vec((0usize..22, proptest::bool::ANY), 0..6), other in "[a-z\\.]{0,8}") {
            let mut spelled: Vec<String> = MARKER_TYPE.chars().map(String::from).collect();
            for (place, upper) in escapes {
                let code = MARKER_TYPE.as_bytes()[place];
                spelled[place] = if upper { format!("\\u{code:04X}") } else { format!("\\u{code:04x}") };
            }
            let text = format!("{}\n{}\n", entry("x", &other), entry("y", &spelled.concat()));
            let mut ids = Vec::new();
            Prefilter::default().markers(text.as_bytes(), 1 << 20, true, |marker| ids.push(marker.unwrap().id.as_str().to_owned())).unwrap();
            proptest::prop_assert_eq!(ids, ["y"]);
        }
    }
}
