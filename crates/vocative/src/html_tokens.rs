//! The tokens of a clipboard's HTML, as in the HTML Living Standard with scripting on (P-2).
//!
//! Only what a paste needs is kept: names, attributes worth keeping, text. Identity attributes are
//! told apart from the others, so that nothing downstream can carry them on by mistake.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, StringReader, Tokenizer};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Start(Tag),
    /// An end tag, by its name.
    End(String),
    Text(String),
}

/// A start tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    /// Attributes without identity, in order.
    pub(crate) attributes: Vec<(String, String)>,
    /// `data-mention-pubkey`.
    pub(crate) key: Option<String>,
    /// `data-mention-label`.
    pub(crate) label: Option<String>,
    /// `data-mention-kind`.
    pub(crate) kind: Option<String>,
    /// `data-channel-label`.
    pub(crate) channel: Option<String>,
    /// `data-vocative-copy` or `data-buzz-copy`, the first.
    pub(crate) marker: Option<String>,
}

/// How the content of an element is tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Tags and text.
    Markup,
    /// Only text, which people see.
    Text,
    /// Only text, which nobody sees.
    Nothing,
}

impl Tag {
    /// What the tag's element holds. `noscript` is text, since scripting is on.
    pub(crate) fn content(&self) -> Content {
        match self.name.as_str() {
            "textarea" | "xmp" | "plaintext" => Content::Text,
            "title" | "style" | "iframe" | "noembed" | "noframes" | "noscript" | "script" => Content::Nothing,
            _ => Content::Markup,
        }
    }

    fn state(&self) -> Option<State> {
        match self.name.as_str() {
            "textarea" | "title" => Some(State::RcData),
            "plaintext" => Some(State::PlainText),
            "script" => Some(State::ScriptData),
            _ if self.content() != Content::Markup => Some(State::RawText),
            _ => None,
        }
    }
}

/// The tokens of `html`, in order. Comments and declarations are left out.
pub(crate) struct Tokens<'h> {
    tokenizer: Tokenizer<StringReader<'h>, CallbackEmitter<Reader, Token>>,
}

impl<'h> Tokens<'h> {
    pub(crate) fn of(html: &'h str) -> Self {
        let emitter = CallbackEmitter::new(Reader::default());
        Self { tokenizer: Tokenizer::new_with_emitter(html, emitter) }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let Ok(token) = self.tokenizer.next()?;
        if let Token::Start(tag) = &token
            && let Some(state) = tag.state()
        {
            self.tokenizer.set_state(state);
        }
        Some(token)
    }
}

/// Attributes kept of one tag beside those of identities. More is no writer's formatting.
const ATTRIBUTES: usize = 64;

/// Gathers the pieces of a tag.
#[derive(Debug, Default)]
struct Reader {
    tag: Tag,
    in_start_tag: bool,
    current: Current,
}

/// Where the next attribute value goes. Of equal names the first counts.
#[derive(Clone, Copy, Debug, Default)]
enum Current {
    #[default]
    Ignored,
    Kept,
    Key,
    Label,
    Kind,
    Channel,
    Marker,
}

impl Reader {
    fn begin_attribute(&mut self, name: &str) -> Current {
        let tag = &mut self.tag;
        let (slot, current) = match name {
            "data-mention-pubkey" => (&mut tag.key, Current::Key),
            "data-mention-label" => (&mut tag.label, Current::Label),
            "data-mention-kind" => (&mut tag.kind, Current::Kind),
            "data-channel-label" => (&mut tag.channel, Current::Channel),
            "data-vocative-copy" | "data-buzz-copy" => (&mut tag.marker, Current::Marker),
            _ => {
                let is_new = tag.attributes.iter().all(|(other, _)| other != name);
                if tag.attributes.len() < ATTRIBUTES && is_new && is_kept(name) {
                    tag.attributes.push((name.to_owned(), String::new()));
                    return Current::Kept;
                }
                return Current::Ignored;
            }
        };
        if slot.is_some() {
            return Current::Ignored;
        }
        *slot = Some(String::new());
        current
    }

    fn slot(&mut self) -> Option<&mut String> {
        let tag = &mut self.tag;
        match self.current {
            Current::Ignored => None,
            Current::Kept => tag.attributes.last_mut().map(|(_, value)| value),
            Current::Key => tag.key.as_mut(),
            Current::Label => tag.label.as_mut(),
            Current::Kind => tag.kind.as_mut(),
            Current::Channel => tag.channel.as_mut(),
            Current::Marker => tag.marker.as_mut(),
        }
    }
}

/// Whether an attribute goes on into the editor: plain names, no identity, no scripts (P-3).
fn is_kept(name: &str) -> bool {
    is_plain(name) && !name.starts_with("on") && !matches!(name, "data-mention" | "data-channel-link")
}

/// Whether a name of a tag or attribute can be written again without a thought.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':'))
}

fn text(bytes: &[u8]) -> String {
    // The tree builder drops NUL, and the tokenizer has replaced it elsewhere.
    String::from_utf8_lossy(bytes).replace('\0', "")
}

impl Callback<Token, ()> for Reader {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Token> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { name: text(name), ..Tag::default() };
                self.in_start_tag = true;
                self.current = Current::Ignored;
            }
            CallbackEvent::AttributeName { name } => {
                self.current = match std::str::from_utf8(name) {
                    // The attributes of end tags are reported too.
                    Ok(name) if self.in_start_tag => self.begin_attribute(name),
                    _ => Current::Ignored,
                };
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(slot) = self.slot() {
                    slot.push_str(&String::from_utf8_lossy(value));
                }
                self.current = Current::Ignored;
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.in_start_tag = false;
                return Some(Token::Start(std::mem::take(&mut self.tag)));
            }
            CallbackEvent::EndTag { name } => {
                self.in_start_tag = false;
                return Some(Token::End(text(name)));
            }
            CallbackEvent::String { value } => return Some(Token::Text(text(value))),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start tags as `<a>`, end tags as `</a>`, text as it is.
    fn drawn(html: &str) -> String {
        Tokens::of(html)
            .map(|token| match token {
                Token::Start(tag) => format!("<{}>", tag.name),
                Token::End(name) => format!("</{name}>"),
                Token::Text(text) => text,
            })
            .collect()
    }

    #[test]
    fn tokens() {
        for (html, expected) in [
            ("<B>x</B\nx=1>&amp;&lt;", "<b>x</b>&<"),
            ("<title><b>&amp;</title><b>", "<title><b>&</title><b>"),
            ("<style><b>&amp;</STYLE ><b>", "<style><b>&amp;</style><b>"),
            ("<noframes><b></noframes>", "<noframes><b></noframes>"),
            ("<noscript><b></noscript>", "<noscript><b></noscript>"),
            ("<noembed><b>", "<noembed><b>"),
            (
                "<script><!--<script></script><b></script>--></script>x",
                "<script><!--<script></script><b></script>--></script>x",
            ),
            ("<plaintext></plaintext><b>", "<plaintext></plaintext><b>"),
            ("a<!-- <b> --><!doctype x><![CDATA[<b>]]>c<b", "a]]>c"),
            ("a\0b<b x", "ab"),
        ] {
            assert_eq!(drawn(html), expected, "{html}");
        }
    }

    #[test]
    fn attributes() {
        let html = "</i data-mention-pubkey=x><SPAN DATA-Mention-Label='&Eacute;' data-mention-label=no \
                    data-mention-pubkey data-mention-pubkey=no onclick=x \"=1 data-mention='' href=/a?b&amp;c href=no>";
        let tag = Tokens::of(html).find_map(|token| match token {
            Token::Start(tag) => Some(tag),
            _ => None,
        });
        let expected = Tag {
            name: "span".into(),
            attributes: vec![("href".into(), "/a?b&c".into())],
            key: Some(String::new()),
            label: Some("É".into()),
            ..Tag::default()
        };
        assert_eq!(tag, Some(expected));
    }
}
