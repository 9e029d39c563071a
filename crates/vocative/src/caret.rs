//! Where typing goes after a mention was inserted (C-1 to C-6).
//!
//! A mention is followed by a separator, and browsers like to put the caret back before it. After
//! an insertion the caret is therefore *settled*: kept behind the separator until the first input,
//! or until the writer goes somewhere on purpose. This module decides; an adapter carries out what
//! [`Action`] says and reports what happened as [`Event`]s.

use serde::{Deserialize, Serialize};

use crate::chars::{is_line_end, is_space};
use crate::context::Contexts;
use crate::known::{Joints, Known, owned};
use crate::offset::{ByteOffset, Span};

/// One block's plain text and the labels it is read against.
///
/// The ranges of known labels are found once, when the value is made.
pub struct Block<'t> {
    text: &'t str,
    occurrences: Vec<Span>,
    joints: Joints<'t>,
}

impl<'t> Block<'t> {
    /// Reads a block (G-20).
    pub fn new(text: &'t str, known: &Known<'_>) -> Self {
        let accepted = known.scan(text, &Contexts::all_prose());
        Self { text, occurrences: owned(&accepted), joints: Joints::between(text, &accepted) }
    }

    /// The place behind the separator, where `at` is a separator edge (C-1).
    pub fn after_separator(&self, at: ByteOffset) -> Option<ByteOffset> {
        let at = at.get();
        let separator = self.text.get(at..)?.chars().next()?;
        if !is_space(separator) || is_line_end(separator) {
            return None;
        }
        let before = self.occurrences.partition_point(|span| span.end.get() < at);
        let is_edge = match self.occurrences.get(before) {
            Some(span) if span.end.get() == at => true,
            Some(span) if span.start.get() < at => false,
            _ => self.ends_plain_token(at),
        };
        is_edge.then(|| ByteOffset::at(at + separator.len_utf8()))
    }

    /// Whether a typed sign and at least one character stand right before `at` (C-1).
    fn ends_plain_token(&self, at: usize) -> bool {
        let mut before = self.text[..at].char_indices().rev().take_while(|&(_, c)| !is_space(c));
        before.any(|(sign, c)| matches!(c, '@' | '#') && sign + 1 < at && self.joints.let_begin(sign))
    }

    /// The separator that ends at `at`, where one does: its edge begins it.
    pub fn separator_before(&self, at: ByteOffset) -> Option<Span> {
        let last = self.text.get(..at.get())?.chars().next_back()?;
        let edge = ByteOffset::at(at.get() - last.len_utf8());
        self.after_separator(edge)?;
        Some(Span { start: edge, end: at })
    }

    /// What becomes of the first input at `range` (C-3); none leaves it alone.
    pub fn redirect(&self, range: Span, typed: &str) -> Option<Redirect> {
        let replaced = self.text.get(range.bytes())?;
        if range.is_empty() {
            let at = self.after_separator(range.start)?;
            let text = Some(typed).filter(|typed| !typed.is_empty())?;
            return Some(Redirect { at, text: text.to_owned() });
        }
        if !replaced.chars().all(is_space) {
            return None;
        }
        // The browser rewrites a run of spaces together with what was typed: the document keeps its
        // own spaces, and only what was typed goes in.
        let at =
            self.after_separator(range.start).or_else(|| Some(self.separator_before(range.start)?.end))?;
        let text = typed.trim_matches(is_space);
        (!text.is_empty()).then(|| Redirect { at, text: text.to_owned() })
    }

    /// Where ArrowLeft goes from right behind a separator: to the label's end (C-4).
    pub fn step_back(&self, caret: ByteOffset) -> Option<ByteOffset> {
        Some(self.separator_before(caret)?.start)
    }
}

/// Text that goes in behind a separator, in place of an input (C-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// Where.
    pub at: ByteOffset,
    /// What.
    pub text: String,
}

/// A key that the settlement minds (C-4). Keys that extend a selection are reported by the
/// selection they make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Key {
    /// The left arrow.
    ArrowLeft,
    /// The right arrow.
    ArrowRight,
    /// The up arrow.
    ArrowUp,
    /// The down arrow.
    ArrowDown,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the line's start.
    Home,
    /// To the line's end.
    End,
    /// Delete backwards.
    Backspace,
}

/// The direction of the block's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Left to right.
    #[default]
    Ltr,
    /// Right to left: the right arrow moves toward the label.
    Rtl,
}

/// What happened in the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// A mention was inserted; the caret stands there, behind its separator (S-7).
    Inserted(ByteOffset),
    /// The selection is this now, and neither a key nor a click of the writer has moved it.
    Selected(Span),
    /// The document changed otherwise: by somebody else, or by the editor itself (C-5).
    Changed,
    /// Text is about to replace a range; it may be empty. A paste as well (C-4).
    Input {
        /// What it replaces.
        range: Span,
        /// The text.
        typed: &'e str,
    },
    /// A key is about to act.
    Pressed {
        /// Which.
        key: Key,
        /// The direction of the block.
        direction: Direction,
        /// Where the caret stands.
        caret: ByteOffset,
    },
    /// A click has put the caret there.
    Clicked {
        /// Where the browser put it.
        caret: ByteOffset,
        /// Whether the click was on a chip.
        on_chip: bool,
    },
    /// An input method begins to compose there.
    CompositionStarted(ByteOffset),
    /// It has ended, and what it committed stands there.
    CompositionEnded(Span),
    /// Undo or redo, new content, a drop, the loss of focus, the end of the editor.
    Left,
}

/// What the adapter does. Everything but [`Action::MoveCaret`] is one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing: what the editor does by itself is right.
    None,
    /// Put the caret there, in the model, and in the DOM if the editor has the focus (C-2).
    MoveCaret(ByteOffset),
    /// Insert this in place of the input, and put the caret behind it (C-3).
    Insert(Redirect),
    /// Delete this in place of the key's own effect (C-4).
    Delete(Span),
    /// Move the text of this range behind the separator that follows it, in the same undo step as
    /// the composition, and put the caret behind it (C-6).
    MoveText {
        /// What was composed.
        from: Span,
        /// Where it goes, counted in the text as it stands.
        to: ByteOffset,
    },
}

/// The settlement of one editor's caret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaretSettlement {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was inserted, or it is settled.
    #[default]
    Idle,
    /// A mention was inserted, and nothing typed since.
    Armed(ByteOffset),
    /// The first input is being composed; at an edge, if there is one.
    Composing { edge: Option<ByteOffset> },
}

impl CaretSettlement {
    /// A settlement that waits for an insertion.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the caret was last settled, while the settlement is armed (C-2).
    pub fn armed_at(&self) -> Option<ByteOffset> {
        match self.state {
            State::Armed(at) => Some(at),
            State::Idle | State::Composing { .. } => None,
        }
    }

    /// Whether an input method composes, during which the adapter dispatches nothing and maps its
    /// decorations (C-6).
    pub fn is_composing(&self) -> bool {
        matches!(self.state, State::Composing { .. })
    }

    /// Answers an event. `block` is the block that holds the caret: before an input or a key, after
    /// everything else.
    pub fn on(&mut self, event: Event<'_>, block: &Block<'_>) -> Action {
        match (self.state, event) {
            (_, Event::Inserted(at)) => {
                self.state = State::Armed(at);
                Action::None
            }
            // A composition that was given up is no input yet.
            (State::Composing { .. }, Event::CompositionEnded(none)) if none.is_empty() => {
                self.state = State::Armed(none.start);
                Action::None
            }
            (State::Composing { edge }, Event::CompositionEnded(composed)) => {
                self.state = State::Idle;
                Self::composed(edge, composed, block)
            }
            (_, Event::Left) => self.disarm(),
            (State::Idle | State::Composing { .. }, _) => Action::None,
            (State::Armed(_), event) => self.while_armed(event, block),
        }
    }

    fn while_armed(&mut self, event: Event<'_>, block: &Block<'_>) -> Action {
        match event {
            Event::Selected(selection) if selection.is_empty() => {
                match block.after_separator(selection.start) {
                    Some(at) => {
                        self.state = State::Armed(at);
                        Action::MoveCaret(at)
                    }
                    None => Action::None,
                }
            }
            Event::Input { range, typed } => {
                self.state = State::Idle;
                block.redirect(range, typed).map_or(Action::None, Action::Insert)
            }
            Event::Pressed { key, direction, caret } => {
                self.state = State::Idle;
                pressed(key, direction, caret, block)
            }
            Event::Clicked { caret, on_chip } => {
                self.state = State::Idle;
                // A click on the end of a chip may come to rest on either side of the separator.
                let end = block.step_back(caret).filter(|_| on_chip);
                end.map_or(Action::None, Action::MoveCaret)
            }
            Event::CompositionStarted(caret) => {
                let edge = block.after_separator(caret).map(|_| caret);
                self.state = State::Composing { edge };
                Action::None
            }
            Event::Changed | Event::CompositionEnded(_) | Event::Inserted(_) => Action::None,
            Event::Selected(_) | Event::Left => self.disarm(),
        }
    }

    fn disarm(&mut self) -> Action {
        self.state = State::Idle;
        Action::None
    }

    /// Text that was composed at an edge stands between the label and its separator (C-6).
    fn composed(edge: Option<ByteOffset>, composed: Span, block: &Block<'_>) -> Action {
        let is_there = edge == Some(composed.start);
        let separator = block
            .text
            .get(composed.end.get()..)
            .and_then(|rest| rest.chars().next())
            .filter(|&c| is_space(c) && !is_line_end(c));
        match separator.filter(|_| is_there) {
            Some(c) => {
                Action::MoveText { from: composed, to: ByteOffset::at(composed.end.get() + c.len_utf8()) }
            }
            None => Action::None,
        }
    }
}

/// The keys of C-4: all disarm, and two do more.
fn pressed(key: Key, direction: Direction, caret: ByteOffset, block: &Block<'_>) -> Action {
    let toward_label = match direction {
        Direction::Ltr => Key::ArrowLeft,
        Direction::Rtl => Key::ArrowRight,
    };
    if key == toward_label {
        block.step_back(caret).map_or(Action::None, Action::MoveCaret)
    } else if key == Key::Backspace {
        // The DOM may have the caret at the edge still, where Backspace would take a letter.
        let separator = match block.after_separator(caret) {
            Some(end) => Some(Span { start: caret, end }),
            None => block.separator_before(caret),
        };
        separator.map_or(Action::None, Action::Delete)
    } else {
        Action::None
    }
}

#[cfg(test)]
#[path = "caret_tests.rs"]
mod tests;
