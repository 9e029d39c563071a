//! The block and inline structure of a message, so that no surface needs a Markdown parser.
//!
//! CommonMark without extensions, the same reading as [`crate::context`]. Raw HTML is text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};
use serde::Serialize;

use crate::context::with_plain_line_ends;
use crate::offset::Span;

/// One step of a walk through a message's structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Where it stands in the source, marks included.
    pub span: Span,
    /// What it is.
    pub kind: PieceKind,
}

/// What a [`Piece`] is. Every `Open` has its `Close`, properly nested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    /// A block or span begins.
    Open(Element),
    /// The innermost open one ends.
    Close,
    /// Text to be shown: escapes and entities read, raw HTML as it stands.
    Text(String),
    /// The text of a code span.
    Code(String),
    /// A line end inside a paragraph.
    SoftBreak,
    /// A line break that was asked for.
    HardBreak,
    /// A thematic break.
    Rule,
    /// The range with this number, in the place of its text ([`structure_with`]).
    Mention(usize),
}

/// A block or span that holds others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// A paragraph.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// A block quote.
    Quote,
    /// A code block; the info string, where its fence has one.
    CodeBlock(Option<String>),
    /// A list; the first number, where it counts.
    List(Option<u64>),
    /// An item of a list.
    Item,
    /// A block of raw HTML, to be shown literally.
    Literal,
    /// Emphasis.
    Emphasis,
    /// Strong emphasis.
    Strong,
    /// A link.
    Link(Target),
    /// An image; what it holds is its description.
    Image(Target),
}

/// Where a link or image points. Untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The address.
    pub destination: String,
    /// The title; may be empty.
    pub title: String,
}

/// The structure of a Markdown text, in source order.
pub fn structure(text: &str) -> Vec<Piece> {
    let lines = with_plain_line_ends(text);
    let events = Parser::new_ext(&lines, Options::empty()).into_offset_iter();
    events.map(|(event, range)| Piece { span: Span::at(range.start, range.end), kind: kind(event) }).collect()
}

/// The structure of a text with some of its ranges drawn as one: `mentions` are sorted and disjoint.
///
/// A range stands where its first character does, and its text is drawn nowhere else. What opens or
/// closes inside it stays, so that the walk is properly nested whatever its marks are.
pub fn structure_with(text: &str, mentions: &[Span]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut mentions = mentions.iter().enumerate().peekable();
    for piece in structure(text) {
        let PieceKind::Text(shown) = &piece.kind else {
            pieces.push(piece);
            continue;
        };
        // A piece that reads as it stands may be cut; an entity or an escape is drawn whole or not.
        let is_literal = piece.span.of(text) == shown;
        let mut from = piece.span.start.get();
        let end = piece.span.end.get();
        while let Some(&(number, mention)) = mentions.peek() {
            let (start, stop) = (mention.start.get(), mention.end.get());
            if stop <= from {
                mentions.next();
                continue;
            }
            if start >= end {
                break;
            }
            if is_literal && from < start {
                pieces.push(literal(text, from, start));
            }
            if start >= from {
                pieces.push(Piece { span: *mention, kind: PieceKind::Mention(number) });
            }
            from = stop.min(end);
            if stop > end {
                break;
            }
        }
        if from == piece.span.start.get() {
            pieces.push(piece);
        } else if is_literal && from < end {
            pieces.push(literal(text, from, end));
        }
    }
    pieces
}

fn literal(text: &str, from: usize, to: usize) -> Piece {
    Piece { span: Span::at(from, to), kind: PieceKind::Text(text[from..to].to_owned()) }
}

fn kind(event: Event<'_>) -> PieceKind {
    match event {
        Event::Start(tag) => PieceKind::Open(element(tag)),
        Event::End(_) => PieceKind::Close,
        Event::Code(code) => PieceKind::Code(code.into_string()),
        Event::SoftBreak => PieceKind::SoftBreak,
        Event::HardBreak => PieceKind::HardBreak,
        Event::Rule => PieceKind::Rule,
        Event::Text(text)
        | Event::Html(text)
        | Event::InlineHtml(text)
        | Event::InlineMath(text)
        | Event::DisplayMath(text)
        | Event::FootnoteReference(text) => PieceKind::Text(text.into_string()),
        Event::TaskListMarker(_) => PieceKind::Text(String::new()),
    }
}

fn element(tag: Tag<'_>) -> Element {
    let target = |destination: pulldown_cmark::CowStr<'_>, title: pulldown_cmark::CowStr<'_>| Target {
        destination: destination.into_string(),
        title: title.into_string(),
    };
    match tag {
        Tag::Heading { level, .. } => Element::Heading(match level {
            HeadingLevel::H1 => 1,
            HeadingLevel::H2 => 2,
            HeadingLevel::H3 => 3,
            HeadingLevel::H4 => 4,
            HeadingLevel::H5 => 5,
            HeadingLevel::H6 => 6,
        }),
        Tag::BlockQuote(_) => Element::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => Element::CodeBlock(Some(info.into_string())),
        Tag::CodeBlock(CodeBlockKind::Indented) => Element::CodeBlock(None),
        Tag::List(first) => Element::List(first),
        Tag::Item => Element::Item,
        Tag::HtmlBlock => Element::Literal,
        Tag::Emphasis => Element::Emphasis,
        Tag::Strong => Element::Strong,
        Tag::Link { dest_url, title, .. } => Element::Link(target(dest_url, title)),
        Tag::Image { dest_url, title, .. } => Element::Image(target(dest_url, title)),
        // The other tags belong to extensions, which are off.
        _ => Element::Paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_is_text_and_entities_are_read() {
        let shown: String = structure("a <b>*c*</b> &amp; `d`\n\n<div>\nx\n</div>")
            .into_iter()
            .map(|piece| match piece.kind {
                PieceKind::Text(text) | PieceKind::Code(text) => text,
                PieceKind::Open(Element::Emphasis) => "(".into(),
                PieceKind::Open(_) => "[".into(),
                PieceKind::Close => "]".into(),
                _ => String::new(),
            })
            .collect();
        assert_eq!(shown, "[a <b>(c]</b> & d][<div>\nx\n</div>]");
    }

    /// The walk with the ranges between brackets drawn as one.
    fn drawn(marked: &str) -> String {
        let mut text = String::new();
        let mut mentions = Vec::new();
        for (number, part) in marked.split(['⟦', '⟧']).enumerate() {
            let start = text.len();
            text.push_str(part);
            mentions.extend((number % 2 == 1).then(|| Span::at(start, text.len())));
        }
        let pieces = structure_with(&text, &mentions).into_iter();
        let shown = pieces.map(|piece| match piece.kind {
            PieceKind::Text(text) | PieceKind::Code(text) => text,
            PieceKind::Open(_) => "[".into(),
            PieceKind::Close => "]".into(),
            PieceKind::SoftBreak => "|".into(),
            PieceKind::HardBreak => "‖".into(),
            PieceKind::Rule => "—".into(),
            PieceKind::Mention(number) => format!("<{number}>"),
        });
        shown.collect()
    }

    #[test]
    fn mentions_stand_where_their_text_stood() {
        for (marked, expected) in [
            ("hi ⟦@Ada⟧, and ⟦@Bo⟧", "[hi <0>, and <1>]"),
            ("⟦@Ada⟧⟦@Bo⟧", "[<0><1>]"),
            ("**⟦@Ada⟧** x", "[[<0>] x]"),
            // Marks inside a name stay balanced, and its text is drawn once.
            ("⟦@A *b* c⟧ d", "[<0>[] d]"),
            ("⟦@A *b⟧ c* d", "[<0>[ c] d]"),
            // Text that does not read as it stands.
            ("⟦@A\\_b⟧\\_c", "[<0>_c]"),
            ("⟦@R&amp;D⟧ &amp; x", "[<0> & x]"),
            ("> ⟦@Ada⟧\nb", "[[<0>|b]]"),
        ] {
            assert_eq!(drawn(marked), expected, "{marked}");
        }
    }
}
