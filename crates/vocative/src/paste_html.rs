//! A pasted HTML as an editor takes it in: normalised, with its records (P-2, P-3).
//!
//! One pass over the tokens, in time linear in their length whatever they are.

use std::collections::HashMap;

use crate::clipboard::{CopyKind, Record, Records};
use crate::html_text::{Mark, Plain, collapsed, is_block, is_html_space, is_void, push_text};
use crate::html_tokens::{Content, Tag, Token, Tokens, is_plain};
use crate::id::Key;
use crate::label::{matchable, trim};
use crate::present::{ChipMatch, Kind};

/// What a pasted HTML holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pasted {
    /// What its marker says of the flavour to insert, if it has one (P-2).
    pub kind: Option<CopyKind>,
    /// The identities it claims (P-2).
    pub records: Vec<Record>,
    /// The HTML to insert: whole chips as text, no identity attributes, no scripts (P-3).
    pub html: String,
    /// The text of that HTML, spaces and lines as people see them.
    pub text: String,
}

impl Pasted {
    /// Reads the HTML flavour of a clipboard.
    pub fn read(html: &str) -> Self {
        let mut reader = Reader::default();
        for token in Tokens::of(html) {
            reader.take(token);
        }
        reader.close_to(0);
        Self {
            kind: reader.kind,
            records: reader.records.into_vec(),
            html: reader.html,
            text: reader.text.out,
        }
    }
}

/// The record that a start tag claims (P-2).
fn record(tag: &Tag) -> Option<Record> {
    let key = trim(tag.key.as_deref()?).parse::<Key>().ok()?;
    let kind = match tag.kind.as_deref() {
        Some("agent") => Kind::Agent,
        _ => Kind::Human,
    };
    Record::new(tag.label.as_deref()?, key, kind)
}

#[derive(Default)]
struct Reader {
    kind: Option<CopyKind>,
    records: Records,
    html: String,
    text: Plain,
    open: Vec<Open>,
    /// The chips among the open elements.
    chips: Vec<Chip>,
    /// How many elements of a name are open.
    counts: HashMap<String, usize>,
    head: Head,
    /// Nested templates, whose content is no part of the page.
    templates: usize,
    /// Nested objects, which vanish.
    objects: usize,
    /// Inside an element that holds text only.
    text_only: Option<Content>,
    /// The text of the innermost chip.
    chip_text: String,
}

/// Where the tokens are with respect to `head`, whose end tag may be missing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Before,
    Inside,
    Behind,
}

struct Open {
    name: String,
    is_chip: bool,
}

/// An element that declares a label.
struct Chip {
    sign: char,
    label: String,
    key: Option<Key>,
    /// Where the HTML and the text stood before it.
    html: usize,
    text: Mark,
    /// A chip in a chip, or more text than any label has: a fragment.
    is_broken: bool,
}

/// No label's form is longer, in whatever characters it is written.
const CHIP_TEXT: usize = 64 * 1024;

impl Reader {
    fn take(&mut self, token: Token) {
        match token {
            Token::Start(tag) => self.start(&tag),
            Token::End(name) => self.end(&name),
            Token::Text(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        self.text_only = Some(tag.content()).filter(|&content| content != Content::Markup);
        if self.templates > 0 {
            self.templates += usize::from(name == "template");
            return;
        }
        if let Some(record) = record(tag) {
            self.records.push(record);
        }
        self.kind = self.kind.or_else(|| CopyKind::from_marker(tag.marker.as_deref()?));
        match name {
            "template" => self.templates = 1,
            "object" => {
                self.head = Head::Behind;
                self.objects += 1;
            }
            "head" if self.head == Head::Before => self.head = Head::Inside,
            "html" | "head" => {}
            "body" => self.head = Head::Behind,
            // Nothing of these is seen, in the head or elsewhere.
            "base" | "basefont" | "bgsound" | "link" | "meta" => {}
            _ if self.text_only == Some(Content::Nothing) => {}
            _ => {
                self.head = Head::Behind;
                if self.objects == 0 {
                    self.open(tag);
                }
            }
        }
    }

    fn open(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        let is_block = is_block(name);
        if is_block {
            if self.counts.get("p").is_some_and(|&open| open > 0) {
                self.close("p");
            }
            self.text.end_block();
        }
        if self.text_only.is_some() {
            // Its text follows; the element itself has no place in a message.
            return;
        }
        let chip = self.chip(tag).filter(|_| !is_void(name));
        let is_chip = chip.is_some();
        if let Some(chip) = chip {
            // A chip that holds another is none.
            if let Some(outer) = self.chips.last_mut() {
                outer.is_broken = true;
            }
            self.chip_text.clear();
            self.chips.push(chip);
        }
        if is_plain(name) {
            self.html.push('<');
            self.html.push_str(name);
            for (name, value) in &tag.attributes {
                self.html.push(' ');
                self.html.push_str(name);
                self.html.push_str("=\"");
                push_text(value, &mut self.html);
                self.html.push('"');
            }
            self.html.push('>');
        }
        match name {
            "br" => self.text.end_line(),
            "hr" => self.text.end_block(),
            _ if is_void(name) => {}
            _ => {
                self.text.preformatted += usize::from(name == "pre");
                *self.counts.entry(tag.name.clone()).or_default() += 1;
                self.open.push(Open { name: tag.name.clone(), is_chip });
            }
        }
    }

    /// The chip that a start tag opens: it declares a label that can match.
    fn chip(&self, tag: &Tag) -> Option<Chip> {
        let (sign, label) = match (&tag.label, &tag.channel) {
            (Some(label), _) => ('@', label),
            (None, Some(label)) => ('#', label),
            (None, None) => return None,
        };
        let label = matchable(label).ok().flatten()?.to_owned();
        Some(Chip {
            sign,
            label,
            key: tag.key.as_deref().and_then(|key| trim(key).parse().ok()),
            html: self.html.len(),
            text: self.text.mark(),
            is_broken: false,
        })
    }

    fn end(&mut self, name: &str) {
        if self.text_only.take().is_some() {
            return;
        }
        if self.templates > 0 {
            self.templates -= usize::from(name == "template");
            return;
        }
        match name {
            "head" | "body" | "html" => self.head = Head::Behind,
            "object" => self.objects = self.objects.saturating_sub(1),
            _ if self.objects > 0 => {}
            "br" => {
                self.head = Head::Behind;
                self.html.push_str("<br>");
                self.text.end_line();
            }
            _ if self.counts.get(name).is_some_and(|&open| open > 0) => {
                self.end_element(name);
            }
            _ => {}
        }
    }

    fn end_element(&mut self, name: &str) {
        if self.close(name) && is_plain(name) {
            self.html.push_str("</");
            self.html.push_str(name);
            self.html.push('>');
        }
    }

    /// Closes the innermost element of this name and what is open in it. Whether its start tag stands
    /// in the HTML still.
    fn close(&mut self, name: &str) -> bool {
        let at = self.open.iter().rposition(|open| open.name == name);
        at.is_none_or(|at| self.close_to(at))
    }

    fn close_to(&mut self, at: usize) -> bool {
        let mut stands = true;
        while self.open.len() > at {
            let Some(Open { name, is_chip }) = self.open.pop() else {
                break;
            };
            if let Some(open) = self.counts.get_mut(&name) {
                *open -= 1;
            }
            self.text.preformatted -= usize::from(name == "pre");
            let chip = is_chip.then(|| self.chips.pop()).flatten();
            stands = !chip.is_some_and(|chip| self.close_chip(&chip));
            if is_block(&name) {
                self.text.end_block();
            }
        }
        stands
    }

    /// Puts sign and label in the place of a whole chip (P-3). Whether it was one.
    fn close_chip(&mut self, chip: &Chip) -> bool {
        let text = std::mem::take(&mut self.chip_text);
        if chip.is_broken {
            return false;
        }
        let is_whole =
            |text: &str| ChipMatch::of(text, &chip.label, chip.sign, chip.key) != ChipMatch::Fragment;
        // A source may break its lines anywhere; people see one space.
        if !is_whole(&text) && !is_whole(&collapsed(&text)) {
            return false;
        }
        self.html.truncate(chip.html);
        self.text.reset(&chip.text);
        let literal = format!("{}{}", chip.sign, chip.label);
        push_text(&literal, &mut self.html);
        self.text.push(&literal);
        true
    }

    fn text(&mut self, text: &str) {
        if self.templates > 0 || self.text_only == Some(Content::Nothing) {
            return;
        }
        let text = if self.head == Head::Behind { text } else { text.trim_start_matches(is_html_space) };
        if text.is_empty() {
            return;
        }
        self.head = Head::Behind;
        if self.objects > 0 {
            return;
        }
        push_text(text, &mut self.html);
        self.text.push(text);
        if let Some(chip) = self.chips.last_mut().filter(|chip| !chip.is_broken) {
            chip.is_broken = self.chip_text.len() + text.len() > CHIP_TEXT;
            if !chip.is_broken {
                self.chip_text.push_str(text);
            }
        }
    }
}

#[cfg(test)]
#[path = "paste_html_tests.rs"]
mod tests;
