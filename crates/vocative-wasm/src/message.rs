//! Published texts: what their names mean, how they are drawn, edited and forwarded (H, X, F, T).

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::edit::{self, EditEvent, Replacement};
use vocative::forward::{self, Forwarded, Revision};
use vocative::markdown::{Element, PieceKind};
use vocative::wire::Publication;
use vocative::{History, Key, MentionTags, Profiles, Scope, Span};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, Positions, error, key, keys, read, read_all, write};
use crate::engine::Engine;
use crate::present::Chip;
use crate::values::{Ambiguous, Place, Ref, kind, texts};

/// A message as it was published: an original, or the latest edit laid over it (`overlayTags`).
#[derive(Clone, Debug, Default, Deserialize, Tsify)]
pub struct Published {
    /// The body.
    pub content: String,
    /// The tags.
    #[tsify(type = "Tag[]")]
    pub tags: Vec<Vec<String>>,
}

/// A range of a published text that a known name owns.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Mention {
    /// Where the sign stands.
    pub start: usize,
    /// Where the name ends.
    pub end: usize,
    /// Where it stands.
    pub place: Place,
    /// How to draw it; none where the name is bound to nobody: it stays literal text (H-7).
    #[tsify(optional)]
    pub chip: Option<Chip>,
}

/// One step of a walk through a message's structure. Every `open` has its `close`, properly nested.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Piece {
    /// A block or span begins.
    Open {
        /// What begins.
        element: Block,
    },
    /// The innermost open one ends.
    Close,
    /// Text to be shown. Raw HTML is text.
    Text {
        /// The text.
        text: String,
    },
    /// The text of a code span.
    Code {
        /// The text.
        text: String,
    },
    /// A mention, in the place of its text.
    Mention {
        /// The text as written, sign included.
        text: String,
        /// How to draw it.
        chip: Chip,
        /// Where it stands.
        place: Place,
    },
    /// A line end inside a paragraph.
    SoftBreak,
    /// A line break that was asked for.
    HardBreak,
    /// A thematic break.
    Rule,
}

/// A block or span that holds others.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase", tag = "name")]
pub enum Block {
    /// A paragraph.
    Paragraph,
    /// A heading.
    Heading {
        /// From 1 to 6.
        level: u8,
    },
    /// A block quote.
    Quote,
    /// A code block.
    CodeBlock {
        /// The info string, where its fence has one.
        #[tsify(optional)]
        info: Option<String>,
    },
    /// A list.
    List {
        /// The first number, where it counts.
        #[tsify(optional)]
        first: Option<f64>,
    },
    /// An item of a list.
    Item,
    /// A block of raw HTML, to be shown literally.
    Literal,
    /// Emphasis.
    Emphasis,
    /// Strong emphasis.
    Strong,
    /// A link. Untrusted.
    Link {
        /// The address.
        destination: String,
        /// The title; may be empty.
        title: String,
    },
    /// An image; what it holds is its description. Untrusted.
    Image {
        /// The address.
        destination: String,
        /// The title; may be empty.
        title: String,
    },
}

/// How a message is drawn.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Drawn {
    /// Its structure, in source order.
    pub pieces: Vec<Piece>,
    /// The names in it, in text order, bound or not.
    pub mentions: Vec<Mention>,
}

/// A message opened for editing (H-8).
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Each bound name that owns text, in text order, for `Composer.openEdit`.
    pub refs: Vec<Ref>,
    /// Identities without such a name, in tag order. The order means nothing.
    #[tsify(type = "Key[]")]
    pub unresolved: Vec<String>,
}

/// What saving a replacement publishes.
#[derive(Clone, Debug, Default, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// Everyone the new body refers to, each once: the list behind the marker.
    #[tsify(type = "Key[]")]
    pub references: Vec<String>,
    /// Those to be revalidated and tagged `p`.
    #[tsify(type = "Key[]")]
    pub notify: Vec<String>,
    /// Who was newly added: nothing rings for them.
    #[tsify(type = "Key[]")]
    pub added: Vec<String>,
    /// The bindings of the new body, to restore when a refusal comes back.
    pub refs: Vec<Ref>,
    /// The name that stops the save. Where it is set, nothing may be published.
    #[tsify(optional)]
    pub ambiguous: Option<Ambiguous>,
}

/// What forwarding a message publishes. Eligibility is checked again at the target (F-4).
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Forward {
    /// Whom it notifies.
    #[tsify(type = "Key[]")]
    pub notify: Vec<String>,
    /// The tags that are copied.
    #[tsify(type = "Tag[]")]
    pub tags: Vec<Vec<String>>,
}

/// A message that is to be forwarded, with its latest edit laid over it.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Forwardable {
    /// Who wrote it.
    #[tsify(type = "Key")]
    pub author: String,
    /// Who signed it, where that is another.
    #[tsify(optional, type = "Key")]
    pub signer: Option<String>,
    /// The body as it now reads.
    pub content: String,
    /// Whether an edit is laid over it.
    pub is_edited: bool,
    /// Its tags, those of the edit included.
    #[tsify(type = "Tag[]")]
    pub tags: Vec<Vec<String>>,
}

/// An edit event, as far as its rank depends on it.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Its id, lower-case hex.
    pub id: String,
    /// Who signed it.
    #[tsify(type = "Key")]
    pub author: String,
    /// When, in seconds, as the event says.
    pub created_at: f64,
}

#[wasm_bindgen]
impl Engine {
    /// How a published message is drawn: its structure with the chips in it (V-4, H-7).
    pub fn draw(&self, message: Ts<Published>) -> Answer<Ts<Drawn>> {
        let message = read(&message)?;
        let shared = self.shared();
        let (text, positions) = (&*message.content, Positions::of(&message.content));
        let history = History::read(&message.tags, &shared.profiles, text);
        let mut bound: Vec<(Span, Chip, Place)> = Vec::new();
        let mentions = history.occurrences().map(|found| {
            let label = &found.span.of(text)[1..];
            let chip = found.key.map(|key| {
                let kind = kind(shared.agents.contains(&vocative::Id::Nostr(key)));
                Chip::from(vocative::present::Chip::new(label, key, kind))
            });
            bound.extend(chip.clone().map(|chip| (found.span, chip, found.place.into())));
            let (start, end) = positions.range(found.span);
            Mention { start, end, place: found.place.into(), chip }
        });
        let mentions = mentions.collect();
        let spans: Vec<Span> = bound.iter().map(|(span, ..)| *span).collect();
        let pieces = vocative::markdown::structure_with(text, &spans).into_iter();
        let pieces = pieces.map(|piece| piece_of(piece.kind, text, &bound)).collect();
        write(&Drawn { pieces, mentions })
    }

    /// Opens a published message for editing (H-8).
    pub fn open(&self, message: Ts<Published>) -> Answer<Ts<Opened>> {
        let message = read(&message)?;
        let shared = self.shared();
        let opened = History::read(&message.tags, &shared.profiles, &message.content).open();
        let refs = opened.refs.iter().map(|found| Ref {
            label: found.label.clone(),
            id: found.id.to_string(),
            is_agent: shared.agents.contains(&found.id),
        });
        write(&Opened { refs: refs.collect(), unresolved: texts(&opened.unresolved) })
    }

    /// What forwarding a message publishes (F).
    pub fn forward(&self, message: Ts<Forwardable>) -> Answer<Ts<Forward>> {
        let message = read(&message)?;
        let forwarded = Forwarded {
            author: key(&message.author)?,
            signer: message.signer.as_deref().map(key).transpose()?,
            body: &message.content,
            revision: if message.is_edited { Revision::Edited } else { Revision::Original },
            tags: &message.tags,
        };
        let forward = forward::forward(forwarded, &self.shared().profiles);
        write(&Forward { notify: texts(&forward.notify), tags: forward.tags })
    }
}

fn piece_of(kind: PieceKind, text: &str, bound: &[(Span, Chip, Place)]) -> Piece {
    match kind {
        PieceKind::Open(element) => Piece::Open { element: block(element) },
        PieceKind::Close => Piece::Close,
        PieceKind::Text(text) => Piece::Text { text },
        PieceKind::Code(text) => Piece::Code { text },
        PieceKind::SoftBreak => Piece::SoftBreak,
        PieceKind::HardBreak => Piece::HardBreak,
        PieceKind::Rule => Piece::Rule,
        PieceKind::Mention(at) => {
            let (span, chip, place) = &bound[at];
            Piece::Mention { text: span.of(text).to_owned(), chip: chip.clone(), place: *place }
        }
    }
}

fn block(element: Element) -> Block {
    match element {
        Element::Paragraph => Block::Paragraph,
        Element::Heading(level) => Block::Heading { level },
        Element::Quote => Block::Quote,
        Element::CodeBlock(info) => Block::CodeBlock { info },
        Element::List(first) => Block::List { first: first.map(|first| first as f64) },
        Element::Item => Block::Item,
        Element::Literal => Block::Literal,
        Element::Emphasis => Block::Emphasis,
        Element::Strong => Block::Strong,
        Element::Link(target) => Block::Link { destination: target.destination, title: target.title },
        Element::Image(target) => Block::Image { destination: target.destination, title: target.title },
    }
}

pub(crate) fn submit(
    original: &Published,
    text: &str,
    scope: Scope<'_>,
    profiles: &Profiles,
    sender: Key,
) -> Result<Submission, vocative::Ambiguous> {
    let published = edit::Published { body: &original.content, tags: &original.tags, profiles };
    let replacement = Replacement {
        body: text,
        draft: scope.draft,
        roster: scope.roster,
        sender,
        typed_names: scope.typed_names,
        explicit: &[],
    };
    let saved = edit::submit(published, replacement)?;
    let refs = saved.refs.iter().map(|found| Ref {
        label: found.label.clone(),
        id: found.id.to_string(),
        is_agent: false,
    });
    Ok(Submission {
        references: texts(&saved.references),
        notify: texts(&saved.notify),
        added: texts(&saved.newly_added(&original.tags)),
        refs: refs.collect(),
        ambiguous: None,
    })
}

fn too_many(problem: vocative::WireError) -> JsValue {
    error(problem.code(), &problem.to_string())
}

/// The mention tags of a message, post or comment (T-2 to T-5). Of the keys addressed automatically
/// those get a tag that it notifies (W-8).
#[wasm_bindgen(js_name = messageTags, unchecked_return_type = "Tag[]")]
pub fn message_tags(
    #[wasm_bindgen(unchecked_param_type = "Key[]")] notify: Vec<String>,
    #[wasm_bindgen(unchecked_param_type = "Key[]")] references: Vec<String>,
    #[wasm_bindgen(unchecked_optional_param_type = "Key[]")] addressed: Option<Vec<String>>,
) -> Answer<Vec<JsTag>> {
    let (notify, references) = (keys(&notify)?, keys(&references)?);
    let addressed = keys(&addressed.unwrap_or_default())?;
    let tags = MentionTags::new(Publication::Message, &notify, Some(&references), &addressed);
    Ok(js_tags(tags.map_err(too_many)?.into_tags()))
}

/// The mention tags of an edit event: its list of references is whole, and marked so (T-3).
#[wasm_bindgen(js_name = editTags, unchecked_return_type = "Tag[]")]
pub fn edit_tags(
    #[wasm_bindgen(unchecked_param_type = "Key[]")] notify: Vec<String>,
    #[wasm_bindgen(unchecked_param_type = "Key[]")] references: Vec<String>,
) -> Answer<Vec<JsTag>> {
    let (notify, references) = (keys(&notify)?, keys(&references)?);
    let tags = MentionTags::new(Publication::Edit, &notify, Some(&references), &[]);
    Ok(js_tags(tags.map_err(too_many)?.into_tags()))
}

/// The tags of a message with an edit laid over it.
#[wasm_bindgen(js_name = overlayTags, unchecked_return_type = "Tag[]")]
pub fn overlay_tags(original: Ts<Published>, edit: Ts<Published>) -> Answer<Vec<JsTag>> {
    Ok(js_tags(edit::overlay(&read(&original)?.tags, &read(&edit)?.tags)))
}

/// The place of the edit that counts among those given.
#[wasm_bindgen(js_name = countingEdit)]
pub fn counting_edit(
    #[wasm_bindgen(unchecked_param_type = "Key")] author: &str,
    edits: Vec<Ts<Edit>>,
    #[wasm_bindgen(unchecked_optional_param_type = "Key")] agent_owner: Option<String>,
) -> Answer<Option<usize>> {
    let edits = read_all(&edits)?;
    let (author, owner) = (key(author)?, agent_owner.as_deref().map(key).transpose()?);
    let authors = edits.iter().map(|edit| key(&edit.author)).collect::<Answer<Vec<_>>>()?;
    let events = edits.iter().zip(authors).map(|(edit, author)| EditEvent {
        id: &edit.id,
        author,
        // Negative times and fractions are no times of events; they sort first.
        created_at: edit.created_at as u64,
    });
    Ok(edit::counting(author, owner, events))
}

/// The identities a message may name (H-1), in tag order. The order means nothing.
#[wasm_bindgen(js_name = identityKeys, unchecked_return_type = "Key[]")]
pub fn identity_keys(message: Ts<Published>) -> Answer<Vec<String>> {
    Ok(texts(&vocative::history::identity_keys(&read(&message)?.tags)))
}

/// A tag as JavaScript has it.
type JsTag = js_sys::Array;

fn js_tags(tags: Vec<vocative::Tag>) -> Vec<JsTag> {
    tags.into_iter().map(|tag| tag.into_iter().map(JsValue::from).collect()).collect()
}
