//! Mentions on the clipboard: writing them, reading them, and whom to believe (P-1 to P-4, P-10).
//!
//! The HTML of a clipboard is untrusted. It is read once, as a stream of tokens, and whatever it
//! declares is a claim to be checked: nothing here binds a label.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::chars::is_line_end;
use crate::context::Contexts;
use crate::form::form;
use crate::id::Key;
use crate::known::{Known, Labels};
use crate::label::{matchable, qualified, trim};
use crate::limits;
use crate::offset::Span;
use crate::present::Kind;

/// A label with the key that it is said to stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The label, trimmed.
    pub label: String,
    /// The key.
    pub key: Key,
    /// A person or an agent.
    pub kind: Kind,
}

impl Record {
    /// A record as a clipboard may hold it: a label of 1 to 200 UTF-16 units after trimming (N-5).
    pub fn new(label: &str, key: Key, kind: Kind) -> Option<Self> {
        let label = trim(label);
        // A UTF-16 unit is at most three bytes, so hostile labels need no counting.
        let fits = !label.is_empty()
            && label.len() <= 3 * limits::RECORD_LABEL_UTF16
            && label.encode_utf16().count() <= limits::RECORD_LABEL_UTF16;
        fits.then(|| Self { label: label.to_owned(), key, kind })
    }
}

/// The records of one clipboard: equal ones once, at most 50, first come (P-2).
#[derive(Debug, Default)]
pub(crate) struct Records {
    found: Vec<Record>,
    /// Keys and forms found: a hostile clipboard repeats itself for megabytes.
    seen: HashSet<(Key, String)>,
}

impl Records {
    pub(crate) fn push(&mut self, record: Record) {
        let is_full = self.found.len() >= limits::CLIPBOARD_RECORDS;
        if !is_full && self.seen.insert((record.key, form(&record.label))) {
            self.found.push(record);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Record> {
        self.found
    }
}

/// Which flavour of a clipboard carries its text (P-1, P-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// The plain flavour, as Markdown text.
    #[default]
    Markdown,
    /// The HTML flavour.
    Rich,
}

impl CopyKind {
    /// The value of the marker (P-1).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Rich => "rich",
        }
    }

    /// Reads the value of a marker (P-2).
    pub fn from_marker(value: &str) -> Option<Self> {
        [Self::Markdown, Self::Rich].into_iter().find(|kind| kind.as_str() == value)
    }
}

/// The HTML flavour of a copied text, none where it holds no mention that can be told (P-1).
///
/// `text` is Markdown; `records` are the identities that its labels stand for.
pub fn build(text: &str, records: &[Record], channels: &[String], kind: CopyKind) -> Option<String> {
    let labels: Labels = records.iter().map(|record| &record.label).collect();
    let channel_labels: Labels = channels.iter().collect();
    let known = Known::from(&labels).with_channels(&channel_labels);
    // Equal labels with one key are one; with two they stand for nobody.
    let mut owners: HashMap<String, Option<&Record>> = HashMap::new();
    for record in records {
        let owner = owners.entry(form(trim(&record.label))).or_insert(Some(record));
        *owner = owner.filter(|other| other.key == record.key);
    }
    let channels: HashMap<String, &str> =
        channels.iter().map(|label| (form(trim(label)), trim(label))).collect();
    let mut html = format!("<span data-vocative-copy=\"{}\">", kind.as_str());
    let mut done = 0;
    let mut is_told = false;
    for span in known.occurrences(text, &Contexts::of(text)) {
        let label = form(&span.of(text)[1..]);
        let opening = if span.of(text).starts_with('#') {
            channels.get(&label).map(|label| channel_tag(label))
        } else {
            owners.get(&label).copied().flatten().map(mention_tag)
        };
        let Some(opening) = opening else { continue };
        let range = span.bytes();
        push_escaped(&text[done..range.start], &mut html);
        html.push_str(&opening);
        push_escaped(span.of(text), &mut html);
        html.push_str("</span>");
        done = range.end;
        is_told = true;
    }
    push_escaped(&text[done..], &mut html);
    html.push_str("</span>");
    is_told.then_some(html)
}

/// The start tag of a wrapped mention (P-1).
fn mention_tag(record: &Record) -> String {
    let mut tag = format!(
        "<span data-mention=\"\" data-mention-pubkey=\"{}\" data-mention-kind=\"{}\" data-mention-label=\"",
        record.key,
        record.kind.as_str()
    );
    push_escaped(trim(&record.label), &mut tag);
    tag.push_str("\">");
    tag
}

/// The start tag of a wrapped channel (P-1).
fn channel_tag(label: &str) -> String {
    let mut tag = String::from("<span data-channel-link=\"\" data-channel-label=\"");
    push_escaped(label, &mut tag);
    tag.push_str("\">");
    tag
}

/// Text as HTML shows it; a line end is `<br>` (P-1).
fn push_escaped(text: &str, html: &mut String) {
    let mut last = '\0';
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' if last == '\r' => {}
            _ if is_line_end(c) => html.push_str("<br>"),
            _ => html.push(c),
        }
        last = c;
    }
}

/// The ranges of an inserted text that each record owns, in one pass over all records (P-5). A record
/// with none goes no further.
pub fn visible(records: &[Record], text: &str) -> Vec<Vec<Span>> {
    let labels: Labels = records.iter().map(|record| &record.label).collect();
    let forms: Vec<String> = records.iter().map(|record| form(trim(&record.label))).collect();
    let mut ranges = vec![Vec::new(); records.len()];
    for span in Known::from(&labels).occurrences(text, &Contexts::of(text)) {
        let owner = form(&span.of(text)[1..]);
        for (own, ranges) in forms.iter().zip(&mut ranges) {
            if *own == owner {
                ranges.push(span);
            }
        }
    }
    ranges
}

/// Whether a key's own names vouch for a label (P-10): one equals it, or it is qualified with this
/// key and one equals its base.
pub fn is_vouched<S: AsRef<str>>(label: &str, aliases: &[S], key: Key) -> bool {
    let Ok(Some(label)) = matchable(label) else {
        return false;
    };
    let base = qualified(label).filter(|parts| parts.key == key);
    let (label, base) = (form(label), base.map(|parts| form(parts.base)));
    aliases.iter().any(|alias| {
        let alias = form(trim(alias.as_ref()));
        alias == label || base.as_ref() == Some(&alias)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paste_html::Pasted;

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; 32])
    }

    fn record(label: &str, byte: u8) -> Record {
        Record::new(label, key(byte), Kind::Human).unwrap()
    }

    #[test]
    fn lengths_of_records() {
        for (label, fits) in [
            ("x".repeat(200), true),
            ("x".repeat(201), false),
            ("😀".repeat(100), true),
            ("😀".repeat(101), false),
            ("太".repeat(200), true),
            (format!(" {} ", "x".repeat(200)), true),
            (" \n".to_owned(), false),
        ] {
            assert_eq!(Record::new(&label, key(1), Kind::Human).is_some(), fits, "{label}");
        }
    }

    #[test]
    fn what_is_wrapped() {
        let records = [record("Ada", 1), record("ada", 2), record("Bo", 3), record("BO", 3)];
        let channels = ["General".to_owned()];
        let html = |text| build(text, &records, &channels, CopyKind::Rich);
        for text in ["@Ada", "Bo", "`@Bo`", "", "@Bo_x #x"] {
            assert_eq!(html(text), None, "{text}");
        }
        let both = html("@Ada @bo in #general\u{2028}'\r\n").unwrap();
        assert!(both.starts_with("<span data-vocative-copy=\"rich\">@Ada <span data-mention=\"\" "));
        assert!(both.contains(&format!(
            "data-mention-pubkey=\"{}\" data-mention-kind=\"human\" data-mention-label=\"Bo\">@bo</span> in ",
            key(3)
        )));
        let end =
            "<span data-channel-link=\"\" data-channel-label=\"General\">#general</span><br>&#39;<br></span>";
        assert!(both.ends_with(end), "{both}");
        // Every line end is one break, and a quote or a code span keeps its text.
        let ends = html("> @Bo\r\n\r\u{b}\u{c}\u{85}`@Bo`").unwrap();
        assert!(ends.contains("\">&gt; <span data-mention=\"\" "), "{ends}");
        assert!(ends.ends_with("@Bo</span><br><br><br><br><br>`@Bo`</span>"), "{ends}");
    }

    #[test]
    fn visible_records() {
        let records = [record("Al", 1), record("Al Kim", 2), record("AL", 3), record("Bo", 4)];
        let ranges = visible(&records, "@al `@Bo` > @Al Kim @Al");
        let counts: Vec<_> = ranges.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 1, 2, 0]);
    }

    #[test]
    fn trust() {
        let own = "9c".repeat(32);
        let other = "15".repeat(32);
        for (label, alias, expected) in [
            ("Ada", " ADA ", true),
            ("Ada", "Ada King", false),
            (&*format!("Ada ({own}) 2"), "ada", true),
            (&format!("Ada ({other})"), "Ada", false),
            (&format!("Ada ({other})"), &format!("Ada ({other})"), true),
            (&format!("Ada  ({own})"), "Ada", false),
            (" ", "", false),
            (&"x".repeat(513), &"x".repeat(513), false),
        ] {
            assert_eq!(is_vouched(label, &[alias], key(0x9c)), expected, "{label}");
        }
    }

    proptest! {
        /// What is written is read back.
        #[test]
        fn a_copy_brings_its_records(labels in prop::collection::vec("[a-cé<>&\"' ]{0,4}[x-z]", 1..6)) {
            let mut records: Vec<Record> = Vec::new();
            for (byte, label) in (1..).zip(&labels) {
                let record = record(label, byte);
                if records.iter().all(|other| form(&other.label) != form(&record.label)) {
                    records.push(record);
                }
            }
            let text: String = records.iter().map(|record| format!("@{}\n\n", record.label)).collect();
            let shown = visible(&records, &text);
            let own: Vec<_> = records.iter().zip(shown).filter(|(_, ranges)| !ranges.is_empty()).map(|(record, _)| record.clone()).collect();
            let html = build(&text, &records, &[], CopyKind::Markdown);
            let pasted = Pasted::read(html.as_deref().unwrap_or_default());
            prop_assert_eq!(pasted.records, own);
        }
    }
}
