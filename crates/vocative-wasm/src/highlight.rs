//! Highlighting: the ranges that labels own, in flat arrays that cost a keystroke nothing.

use vocative::present::{has_bidi_controls, is_full_key_label};
use vocative::reading::Holders;
use vocative::{Context, Contexts, Id, Known, Place, Reading, Scope, Span};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::Positions;
use crate::engine::Shared;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/**
 * Ranges in text order, three numbers each: start, end, and flags. The low four bits of the flags are
 * an index into `MENTION_KINDS`; then come the bits of `MentionFlag`.
 */
export type Highlights = Uint32Array;
/** Ranges that are not prose, three numbers each: start, end, an index into `CONTEXTS`. */
export type ContextRanges = Uint32Array;
"#;

/// What an owned range stands for. The order is that of `MENTION_KINDS` in `packages/engine`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MentionKind {
    /// One person.
    Human,
    /// One agent.
    Agent,
    /// A channel.
    Channel,
    /// A persona, which the send prepares.
    Persona,
    /// Several identities (A-1).
    Ambiguous,
    /// Outsiders only: it reaches nobody (E-4). A pasted name that is being checked, too.
    Outsider,
    /// An old label of an edited message, or a pasted one whose check expired.
    Unresolved,
}

const FULL_KEY: u32 = 1 << 4;
const QUOTE: u32 = 1 << 5;
const ISOLATED: u32 = 1 << 6;

impl MentionKind {
    pub(crate) fn of(owners: &Holders, shared: &Shared) -> Self {
        match owners.keys.as_slice() {
            [only] if shared.agents.contains(only) => Self::Agent,
            [_] => Self::Human,
            [_, ..] => Self::Ambiguous,
            [] if owners.has_persona => Self::Persona,
            [] if !owners.outsiders.is_empty() => Self::Outsider,
            [] => Self::Unresolved,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Channel => "channel",
            Self::Persona => "persona",
            Self::Ambiguous => "ambiguous",
            Self::Outsider => "outsider",
            Self::Unresolved => "unresolved",
        }
    }
}

/// The mentions of a reading, and the channels of the same text in the same pass.
pub(crate) fn highlights(text: &str, reading: &Reading<'_>, scope: Scope<'_>, shared: &Shared) -> Vec<u32> {
    // Without channels the reading has found all there is.
    let spans: Vec<Span> = if shared.has_channels {
        Known::from(scope).with_channels(&shared.channels).occurrences(text, reading.contexts())
    } else {
        reading.occurrences().iter().map(|mention| mention.span).collect()
    };
    let positions = Positions::of(text);
    let mut flat = Vec::new();
    let mut mentions = reading.occurrences().iter().peekable();
    for span in spans {
        let literal = span.of(text);
        let label = &literal[1..];
        let mut flags = if literal.starts_with('#') {
            MentionKind::Channel as u32
        } else {
            // A channel's label may have swallowed mentions.
            while mentions.next_if(|mention| mention.span.start < span.start).is_some() {}
            let Some(mention) = mentions.next_if(|mention| mention.span == span) else { continue };
            let quote = if mention.place == Place::Quote { QUOTE } else { 0 };
            MentionKind::of(&mention.owners, shared) as u32 | quote
        };
        if is_full_key_label(label) {
            flags |= FULL_KEY;
        }
        if has_bidi_controls(label) {
            flags |= ISOLATED;
        }
        let (start, end) = positions.range(span);
        flat.extend([number(start), number(end), flags]);
    }
    flat
}

/// What is not prose in a Markdown text (G-17).
pub(crate) fn context_ranges(text: &str) -> Vec<u32> {
    let positions = Positions::of(text);
    let mut flat = Vec::new();
    for (range, context) in Contexts::of(text).ranges() {
        let Some(span) = Span::new(text, range) else { continue };
        let (start, end) = positions.range(span);
        flat.extend([number(start), number(end), context_number(context)]);
    }
    flat
}

/// Whether a Markdown text can hold neither code nor links nor definitions, so that in it a plain line
/// (`isPlainLine`) may be read by itself.
#[wasm_bindgen(js_name = readsByLine)]
pub fn reads_by_line(text: &str) -> bool {
    vocative::context::reads_by_line(text)
}

/// Whether a line in a text that reads by line may be read by itself, and changes nothing outside when
/// it takes the place of another such line.
#[wasm_bindgen(js_name = isPlainLine)]
pub fn is_plain_line(line: &str) -> bool {
    vocative::context::is_plain_line(line)
}

/// The order of `CONTEXTS` in `packages/engine`.
fn context_number(context: Context) -> u32 {
    match context {
        Context::Code => 0,
        Context::Hidden => 1,
        Context::Link => 2,
        Context::Quote => 3,
        Context::Prose => 4,
    }
}

/// A JavaScript string has fewer than 2^32 units.
fn number(units: usize) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// The identities of an occurrence: those it names, else the outsiders that own it.
pub(crate) fn ids(owners: &Holders) -> &[Id] {
    if owners.keys.is_empty() { &owners.outsiders } else { &owners.keys }
}
