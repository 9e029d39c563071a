//! Finding the lines that may hold a marker without reading the rest as JSON (section 5.1).
//!
//! A JSON string that equals the marker's type without containing its bytes must spell one of its
//! letters or dots as `\u00XX`. So a line without the plain bytes and without `\u002e`, `\u006x`
//! or `\u007x` holds no marker, and needs no further look. Lines that are left are parsed, so
//! that the type inside a message's text does not count. Most lines need no search at all: they
//! begin with another `type` in plain letters, and only their end is looked for.

use std::io::{self, Read};

use memchr::memmem::Finder;

use crate::ids::EntryId;
use crate::json::Scratch;
use crate::line::{MARKER_TYPE, REDUCTION_TYPE, Record};
use crate::lines::{Block, Lines, Next};
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

/// Memory that one search after another uses.
#[derive(Debug, Default)]
pub struct Memory {
    buffer: Vec<u8>,
    scratch: Scratch,
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
    ///
    /// # Errors
    /// What reading the source says.
    pub fn markers(
        &self,
        source: impl Read,
        max_line: usize,
        memory: &mut Memory,
        mut each: impl FnMut(Result<Found, Problem>),
    ) -> io::Result<()> {
        let buffer = std::mem::take(&mut memory.buffer);
        let mut lines = Lines::with_buffer(source, 0, max_line, buffer);
        loop {
            let next = lines.next_but(is_of_another_type)?;
            let result = match next {
                Next::Line(line) if self.find(line, 0).is_none() => continue,
                Next::Line(line) => {
                    let length = line.len() as u64 + 1;
                    found(line, &mut memory.scratch).map(|found| found.map(|found| (length, found)))
                }
                Next::TooLong => {
                    let detail = format!("the line is longer than {max_line} bytes");
                    Some(Err(Fault::new(Code::LineTooLong, detail)))
                }
                Next::Tail(_) | Next::End => break,
            };
            let line = lines.number();
            let Some(result) = result else { continue };
            each(result.map_err(|fault| fault.at(line, None)).map(|(length, (id, marker))| Found {
                line,
                offset: lines.offset() - length,
                id,
                marker,
            }));
        }
        memory.buffer = lines.into_buffer();
        Ok(())
    }
}

/// Whether a line begins as Pi begins those of other types: with `type`, plainly spelled. It holds
/// no marker, whatever follows, since a second `type` would make it invalid (rule 1); so no byte
/// of it need be looked at but for its end.
fn is_of_another_type(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(br#"{"type":""#) else {
        return false;
    };
    let length = rest.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    rest.get(length) == Some(&b'"') && &rest[..length] != b"custom"
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
    use proptest::prelude::*;

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
            .markers(text.as_bytes(), 1 << 20, &mut Memory::default(), |marker| {
                let marker = marker.unwrap();
                assert!(text[marker.offset as usize..].starts_with(&entry("", "")[..15]));
                found.push((marker.line, marker.id.as_str().to_owned()));
            })
            .unwrap();
        assert_eq!(found, expected.map(|(line, id)| (line, id.to_owned())));
        assert!(filter.may_hold_evidence(text.as_bytes(), 1 << 20).unwrap());
        assert!(!filter.may_hold_evidence("{\"nothing\":\"\\u0041\"}\n".as_bytes(), 1 << 20).unwrap());
    }

    /// The markers of a text as a reader finds them that parses every line.
    fn parsed(text: &str) -> Vec<(u64, u64, String)> {
        let (mut all, mut offset) = (Vec::new(), 0);
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if let Some(line) = line.strip_suffix('\n') {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                if value["type"] == "custom" && value["customType"] == MARKER_TYPE {
                    all.push((number as u64 + 1, offset, value["id"].as_str().unwrap().to_owned()));
                }
            }
            offset += line.len() as u64;
        }
        all
    }

    /// A string of which some letters are escaped: those whose bit is set, the odd ones in capitals.
    fn spelled(text: &str, escaped: u32) -> String {
        let letter = |(place, letter): (usize, char)| match escaped >> (place % 32) & 1 {
            0 => letter.to_string(),
            _ if place % 2 == 0 => format!("\\u{:04x}", letter as u32),
            _ => format!("\\u{:04X}", letter as u32),
        };
        format!("\"{}\"", text.chars().enumerate().map(letter).collect::<String>())
    }

    /// An entry with its type anywhere among its fields and any part of it spelled by escapes.
    fn any_entry() -> impl Strategy<Value = String> {
        const TYPES: [&str; 4] = ["custom", "message", "custom_message", "customs"];
        const CUSTOM: [&str; 3] = [MARKER_TYPE, "chi.messaging.mention", "chi.messaging.mentions."];
        // Spellings without any escape are the most frequent ones in files, and so are they here.
        let escapes =
            || prop_oneof![3 => Just(0), 1 => any::<u32>(), 1 => (0u32..32).prop_map(|place| 1 << place)];
        // A line is now and then longer than what is read at once.
        let length = prop_oneof![20 => 0usize..200, 1 => 60_000usize..140_000];
        let text = prop_oneof![Just(MARKER_TYPE), Just("\\u0063\\u001b"), Just("x"), Just("\\\\u0063 \\\"")];
        let shape = (0usize..4, 0usize..3, 0usize..6, 0usize..5);
        (shape, [escapes(), escapes(), escapes(), escapes()], (text, length)).prop_map(
            |((kind, custom, order, space), escaped, (text, length))| {
                let field = |name: &str, key: u32, value: String| {
                    let space = ["", "", "", " ", "\t"][space];
                    format!("{}{space}:{space}{value}", spelled(name, key))
                };
                let data = r#"{"schemaVersion":1,"actor":{"id":"github:a","handle":"A"},"recipients":[{"id":"github:b","handle":"b"}],"target":{"sessionId":"s","entryId":"e"}}"#;
                let mut fields = [
                    field("type", escaped[0], spelled(TYPES[kind], escaped[1])),
                    field("customType", escaped[2], spelled(CUSTOM[custom], escaped[3])),
                    field("data", 0, data.to_owned()),
                    field("id", 0, format!("\"{length}\"")),
                    field("text", 0, format!("\"{}{text}\"", "y".repeat(length))),
                ];
                // The first two are as Pi writes them, most of the time.
                fields.rotate_left(order.saturating_sub(2));
                format!("{{{}}}\n", fields.join(","))
            },
        )
    }

    /// A source that gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let some = self.1.min(into.len()).min(self.0.len());
            self.0.read(&mut into[..some])
        }
    }

    proptest! {
        /// The prefilter finds what parsing every line finds, however it is spelled and read.
        #[test]
        fn no_marker_is_missed_and_none_invented(
            lines in prop::collection::vec(any_entry(), 0..12),
            cut in 0usize..40,
            drip in prop_oneof![1usize..100, Just(usize::MAX)],
        ) {
            let mut text = lines.concat();
            text.truncate(text.len().saturating_sub(cut.saturating_sub(20)));
            let filter = Prefilter::default();
            let mut memory = Memory::default();
            // What an earlier file left in the memory does not matter.
            for drip in [drip, 70_000] {
                let mut all = Vec::new();
                filter.markers(Drip(text.as_bytes(), drip), 1 << 20, &mut memory, |marker| {
                    let marker = marker.unwrap();
                    all.push((marker.line, marker.offset, marker.id.as_str().to_owned()));
                }).unwrap();
                prop_assert_eq!(&all, &parsed(&text));
                if !all.is_empty() {
                    prop_assert!(filter.may_hold_evidence(Drip(text.as_bytes(), drip), 1 << 20).unwrap());
                }
            }
        }
    }
}
