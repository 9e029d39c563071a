//! Where in a Markdown text a character stands (G-17 to G-19).
//!
//! CommonMark decides what is code, a link or a block quote; this module turns its events into
//! ranges and adds what chat needs: written-out addresses, and quotes judged line by line.

use std::borrow::Cow;

use memchr::memmem;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use crate::chars::{Class, class, is_line_end, is_space, is_unspaced, is_wide_punctuation};
use crate::offset::Span;

/// The context of a character (G-17), the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// A code block with its fences and info string, or a code span with its backticks.
    Code,
    /// A link reference definition: it is not shown.
    Hidden,
    /// An address: an autolink, a link's or image's destination, or a written-out one.
    Link,
    /// A block quote, on a line that carries its marker (G-18).
    Quote,
    /// Everything else.
    Prose,
}

/// The contexts of one text.
///
/// Built in one pass over the text. Characters outside the segments are prose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contexts {
    /// Sorted and disjoint.
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: usize,
    end: usize,
    context: Context,
}

impl Contexts {
    /// The contexts of a Markdown text (G-17).
    pub fn of(text: &str) -> Self {
        let mut found = Found::default();
        if !is_plain(text) {
            found.read_markdown(text);
        }
        found.read_addresses(text);
        Self { segments: found.into_segments() }
    }

    /// Everything is prose: for the plain text of one editor block, whose editor knows by itself
    /// what is code (G-20).
    pub fn all_prose() -> Self {
        Self::default()
    }

    /// The contexts that an editor knows by itself, for the plain text of one of its blocks (G-20).
    /// Of ranges that overlap the first context of G-17 counts; what no range holds is prose.
    pub fn of_ranges(ranges: impl IntoIterator<Item = (Span, Context)>) -> Self {
        let mut found = Found::default();
        for (span, context) in ranges {
            match context {
                Context::Code => found.code.push(span.bytes()),
                Context::Hidden => found.hidden.push(span.bytes()),
                Context::Link => found.link.push(span.bytes()),
                Context::Quote => found.quote.push(span.bytes()),
                Context::Prose => {}
            }
        }
        Self { segments: found.into_segments() }
    }

    /// The context of the character at the byte `at`.
    pub fn at(&self, at: usize) -> Context {
        let after = self.segments.partition_point(|segment| segment.end <= at);
        match self.segments.get(after) {
            Some(segment) if segment.start <= at => segment.context,
            _ => Context::Prose,
        }
    }

    /// Whether a character of `start..end` is code (G-19).
    pub(crate) fn has_code(&self, start: usize, end: usize) -> bool {
        let after = self.segments.partition_point(|segment| segment.end <= start);
        let mut inside = self.segments[after..].iter().take_while(|segment| segment.start < end);
        inside.any(|segment| segment.context == Context::Code)
    }

    /// The ranges that are not prose, in bytes, in text order.
    pub fn ranges(&self) -> impl Iterator<Item = (std::ops::Range<usize>, Context)> + '_ {
        self.segments.iter().map(|segment| (segment.start..segment.end, segment.context))
    }
}

/// Whether a text can hold neither code nor links nor definitions, so that in it a [plain
/// line](is_plain_line) may be read by itself, for an editor that reads only what has changed.
pub fn reads_by_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'`', b'[', b'<', bytes).is_none()
        && memchr::memchr2(b'\t', b'\r', bytes).is_none()
        && memmem::find(bytes, b"    ").is_none()
        && memmem::find(bytes, b"~~~").is_none()
}

/// Whether CommonMark makes of a line nothing but a line of a paragraph: it begins with a letter or `@`.
///
/// In a text that [reads by line](reads_by_line), one such line in the place of another changes no context
/// outside, and has itself those that it has alone.
pub fn is_plain_line(line: &str) -> bool {
    let begins = line.chars().next().is_some_and(|c| c == '@' || c.is_alphabetic());
    begins && !line.contains(is_line_end) && reads_by_line(line)
}

/// Whether CommonMark can make nothing but prose of a text.
///
/// Code needs a backtick, a fence of tildes, a tab or four spaces in a row; a quote needs `>`; a
/// definition or link needs `[`; an autolink needs `<`.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'`', b'[', b'<', bytes).is_none()
        && memchr::memchr2(b'>', b'\t', bytes).is_none()
        && memmem::find(bytes, b"    ").is_none()
        && memmem::find(bytes, b"~~~").is_none()
}

/// The text with each CR that ends a line alone written as LF: to CommonMark both are line ends
/// (G-17), to the parser not everywhere. Places stay what they are.
pub(crate) fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    let is_lone = |at: usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    if !memchr::memchr_iter(b'\r', text.as_bytes()).any(is_lone) {
        return Cow::Borrowed(text);
    }
    let plain = |(at, c)| if c == '\r' && is_lone(at) { '\n' } else { c };
    Cow::Owned(text.char_indices().map(plain).collect())
}

/// A half-open range of bytes.
type Range = std::ops::Range<usize>;

#[derive(Default)]
struct Found {
    code: Vec<Range>,
    hidden: Vec<Range>,
    link: Vec<Range>,
    quote: Vec<Range>,
    /// The two parts of each link and image, sorted by their start once reading is done.
    parts: Vec<Range>,
}

/// A link or image whose end has not come.
struct OpenLink {
    range: Range,
    is_autolink: bool,
    /// Where its last piece of text ends.
    content_end: usize,
}

impl Found {
    fn read_markdown(&mut self, text: &str) {
        let mut links: Vec<OpenLink> = Vec::new();
        let mut quotes = 0;
        let mut covered = 0;
        let lines = with_plain_line_ends(text);
        for (event, range) in Parser::new_ext(&lines, Options::empty()).into_offset_iter() {
            let is_leaf =
                !matches!(event, Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) | Event::End(_));
            if is_leaf {
                self.read_gap(text, covered..range.start);
                covered = covered.max(range.end);
            }
            if let (Some(link), false) = (links.last_mut(), matches!(event, Event::End(_))) {
                link.content_end = link.content_end.max(range.end);
            }
            match event {
                Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => self.code.push(range),
                Event::Start(Tag::Link { link_type, .. }) => links.push(OpenLink {
                    content_end: range.start + 1,
                    is_autolink: matches!(link_type, LinkType::Autolink | LinkType::Email),
                    range,
                }),
                Event::Start(Tag::Image { .. }) => {
                    links.push(OpenLink { content_end: range.start + 2, is_autolink: false, range });
                }
                Event::End(TagEnd::Link | TagEnd::Image) => {
                    if let Some(link) = links.pop() {
                        self.close_link(text, link);
                    }
                }
                Event::Start(Tag::BlockQuote(_)) => {
                    if quotes == 0 {
                        self.read_quote(text, range);
                    }
                    quotes += 1;
                }
                Event::End(TagEnd::BlockQuote(_)) => quotes -= 1,
                _ => {}
            }
        }
        self.read_gap(text, covered..text.len());
        self.parts.sort_unstable_by_key(|part| (part.start, std::cmp::Reverse(part.end)));
    }

    /// Text that no event covers is container markers, inline marks or link reference definitions,
    /// and of these only a definition holds `]:`. (The parser's own list lacks repeated ones.)
    fn read_gap(&mut self, text: &str, gap: Range) {
        if gap.start >= gap.end || !text[gap.clone()].contains("]:") {
            return;
        }
        // A definition takes whole lines: what follows the last line end belongs to the next block.
        let last = if gap.end < text.len() { text[gap.clone()].rfind(['\n', '\r']) } else { None };
        let lines = &text[gap.start..last.map_or(gap.end, |at| gap.start + at)];
        let start = gap.start + lines.find('[').unwrap_or(0);
        let end = gap.start + lines.trim_end().len();
        self.hidden.push(start..end);
    }

    fn close_link(&mut self, text: &str, link: OpenLink) {
        let OpenLink { range, is_autolink, content_end } = link;
        let bracket = if is_autolink {
            range.start
        } else {
            let from = content_end.min(range.end);
            text[from..range.end].find(']').map_or(range.end, |at| from + at)
        };
        self.link.push(bracket..range.end);
        self.parts.push(range.start..bracket);
        self.parts.push(bracket..range.end);
    }

    /// The lines of a block quote that carry a marker (G-18).
    fn read_quote(&mut self, text: &str, quote: Range) {
        let mut start = text[..quote.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        while start < quote.end {
            let end = text[start..quote.end].find(['\n', '\r']).map_or(quote.end, |at| start + at + 1);
            if has_quote_marker(&text[start..end]) {
                self.quote.push(start.max(quote.start)..end);
            }
            start = end;
        }
    }

    /// Addresses that are written out in the text (G-17).
    fn read_addresses(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut parts = self.parts.iter().peekable();
        let mut open: Vec<&Range> = Vec::new();
        let (mut next, mut done) = (0, 0);
        while let Some(sign) = memchr::memchr2(b':', b'.', &bytes[next..]).map(|at| next + at) {
            next = sign + 1;
            // A scheme may hold dots, so an address may begin before one that opened nothing.
            let Some(start) = address_start(text, sign).filter(|&start| start >= done) else {
                continue;
            };
            while let Some(part) = parts.next_if(|part| part.start <= start) {
                open.push(part);
            }
            while open.last().is_some_and(|part| part.end <= start) {
                open.pop();
            }
            let limit = open.last().map_or(text.len(), |part| part.end);
            let end = start + address_length(&text[start..limit], &text[start..]);
            self.link.push(start..end);
            done = end;
            next = next.max(end);
        }
    }

    fn into_segments(self) -> Vec<Segment> {
        let kinds = [
            (self.code, Context::Code),
            (self.hidden, Context::Hidden),
            (self.link, Context::Link),
            (self.quote, Context::Quote),
        ];
        let mut edges: Vec<(usize, Context, i32)> = Vec::new();
        for (ranges, context) in kinds {
            for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                edges.push((range.start, context, 1));
                edges.push((range.end, context, -1));
            }
        }
        edges.sort_unstable();
        let mut segments: Vec<Segment> = Vec::new();
        let mut depth = [0; 4];
        let mut edges = edges.into_iter().peekable();
        while let Some((start, context, step)) = edges.next() {
            depth[context as usize] += step;
            let Some(&(end, ..)) = edges.peek() else {
                break;
            };
            let first = [Context::Code, Context::Hidden, Context::Link, Context::Quote];
            let Some(context) = first.into_iter().find(|&context| depth[context as usize] > 0) else {
                continue;
            };
            match segments.last_mut() {
                Some(last) if last.end == start && last.context == context => last.end = end,
                _ if start < end => segments.push(Segment { start, end, context }),
                _ => {}
            }
        }
        segments
    }
}

/// After blanks and list markers the line begins with `>` (G-18).
fn has_quote_marker(line: &str) -> bool {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.starts_with('>') {
            return true;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match rest.as_bytes().get(digits) {
            Some(b'-' | b'+' | b'*') if digits == 0 => 1,
            Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
            _ => return false,
        };
        rest = &rest[marker..];
        if !rest.starts_with([' ', '\t']) {
            return false;
        }
    }
}

/// The start of the address that the `:` or `.` at `sign` belongs to, where it opens one.
fn address_start(text: &str, sign: usize) -> Option<usize> {
    let (before, after) = (&text.as_bytes()[..sign], &text.as_bytes()[sign..]);
    if after.starts_with(b"://") {
        let scheme =
            before.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || b"+.-".contains(b)).count();
        let letter = before[sign - scheme..].iter().position(u8::is_ascii_alphabetic)?;
        return Some(sign - scheme + letter);
    }
    let word: &[u8] = if after[0] == b':' { b"mailto" } else { b"www" };
    let start = sign.checked_sub(word.len())?;
    let stands_alone = || {
        let before = text[..start].chars().next_back();
        !before.is_some_and(|c| matches!(class(c), Class::Token | Class::Connector))
    };
    (before[start..].eq_ignore_ascii_case(word) && stands_alone()).then_some(start)
}

/// The length of the address at the start of `part`, which is all of `text` that may belong to it.
fn address_length(part: &str, text: &str) -> usize {
    let ends = |(at, c): (usize, char)| match c {
        '<' | '>' | '"' => true,
        ',' | ';' | '|' => text[at + 1..].starts_with('@'),
        _ if c.is_ascii() => is_space(c),
        _ => is_space(c) || is_unspaced(c) || is_wide_punctuation(c),
    };
    part.char_indices().find(|&place| ends(place)).map_or(part.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its contexts written below it: `c`ode, `h`idden, `l`ink, `q`uote, `.` prose.
    fn drawn(text: &str) -> String {
        let contexts = Contexts::of(text);
        let letter = |at| match contexts.at(at) {
            Context::Code => 'c',
            Context::Hidden => 'h',
            Context::Link => 'l',
            Context::Quote => 'q',
            Context::Prose => '.',
        };
        text.char_indices().map(|(at, c)| if matches!(c, '\n' | '\r') { '|' } else { letter(at) }).collect()
    }

    /// The law of [`is_plain_line`], over all short texts of lines that differ in what they begin.
    #[test]
    fn a_plain_line_is_read_by_itself() {
        let others =
            ["", "> q", "- l", "1. n", "2. > x", "> - d", "  # h", "---", "> ", "www.a.b/c", "*e", "   > z"];
        let plain =
            ["a", "@Ada, hi", "see www.x.y now", "www.a", "a > b", "a *b", "a - # x&amp;", "a\\", "a: //x"];
        for before in others {
            for (middle, after) in others.iter().flat_map(|middle| others.map(|after| (middle, after))) {
                let around = |line: &str| format!("{before}\n{middle}\n{line}\n{after}");
                assert!(reads_by_line(&around("a")));
                let start = before.len() + middle.len() + 2;
                let parts = |line: &str| {
                    let (text, end) = (around(line), start + line.len());
                    let contexts = Contexts::of(&text);
                    let letters: Vec<Context> = (0..text.len()).map(|at| contexts.at(at)).collect();
                    (letters[..start].to_vec(), letters[start..end].to_vec(), letters[end..].to_vec())
                };
                let (head, _, tail) = parts("a");
                for line in plain {
                    assert!(is_plain_line(line));
                    let alone = Contexts::of(line);
                    let own: Vec<Context> = (0..line.len()).map(|at| alone.at(at)).collect();
                    assert_eq!(parts(line), (head.clone(), own, tail.clone()), "{:?}", around(line));
                }
            }
        }
        for line in ["", " a", "1. a", "a    b", "a`", "a [b", "a <b", "> a", "-", "a\nb", "a\tb"] {
            assert!(!is_plain_line(line), "{line}");
        }
        assert!(is_plain_line("été @Ada’s: *x*") && !reads_by_line("a `b`") && reads_by_line("> a\n- b"));
    }

    #[test]
    fn an_editor_says_what_its_ranges_are() {
        let whole = Span::at(0, 6);
        let contexts = Contexts::of_ranges([
            (whole, Context::Quote),
            (Span::at(2, 4), Context::Code),
            (whole, Context::Prose),
        ]);
        let found: Vec<_> = contexts.ranges().collect();
        assert_eq!(found, [(0..2, Context::Quote), (2..4, Context::Code), (4..6, Context::Quote)]);
    }

    #[test]
    fn contexts() {
        for (text, expected) in [
            ("a `b` c", "..ccc.."),
            ("[x](u) y", "..llll.."),
            ("![x][y]\n\n[y]: /u\nz", "...llll||hhhhhhh|."),
            ("[a]: /u\n[a]: /v\nz", "hhhhhhh|hhhhhhh|."),
            ("<https://x>", "lllllllllll"),
            ("see https://x/?a=b, ok", "....lllllllllllllll..."),
            ("> a\nb", "qqq|."),
            ("- > a\n  b", "..qqq|..."),
            ("> a\n> > b\nc", "qqq|qqqqq|."),
            ("> `a` b", "qqcccqq"),
            ("[a [b](c)](d)", ".....llll...."),
            ("x\r> a\r\rb", ".|qqq||."),
            ("1) > a\n   > b", "...qqq|qqqqqq"),
            ("- [a]: /u \"t\"\n  b", "..hhhhhhhhhhh|..."),
            ("> [a]: /u\n> b", "qqhhhhhhh|qqq"),
            ("[q](a \"b\")", "..llllllll"),
            ("[a\\]](u)", "....llll"),
            ("**[a](b)** c", "....llll...."),
            ("www.x", "lllll"),
            ("xwww.x", "......"),
            ("MAILTO:a", "llllllll"),
            ("a.b://?x y", "llllllll.."),
            ("x.y https://a<b.c://d", "....lllllllll.lllllll"),
            ("2h2://a 2://a", ".llllll......"),
            ("https://a/\u{2ea}b", "llllllllll.."),
            ("```\rx\r```\ry", "ccc|c|ccc|."),
            ("`https://a?` b", "cccccccccccc.."),
            ("[https://a?](u)?b", ".llllllllllllll.."),
            ("[a]: /u\n'b\nc'\nd", "hhhhhhh|hh|hh|."),
            ("[a]: /u\n    b", "hhhhhhh|....."),
            ("> [a]: /u\nb", "qqhhhhhhh|."),
            ("> a\n2. > b", "qqq|...qqq"),
            ("> - a\nb", "qqqqq|."),
            ("- ```\n  a\nb", "..ccc|ccc|."),
            ("-     a\n  b", "......c|..."),
        ] {
            assert_eq!(drawn(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_short_cut_changes_nothing() {
        for text in ["a b", "-     a", "1. a\n\n   b", "a\n===\nb", "*a* _b_\\\nc", "# a #\n---\n+ b"] {
            let mut found = Found::default();
            found.read_markdown(text);
            found.read_addresses(text);
            assert_eq!(Contexts { segments: found.into_segments() }, Contexts::of(text), "{text:?}");
        }
    }
}
