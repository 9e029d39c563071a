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
}
