//! Where typing goes after a mention was inserted (C).

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::caret::{Action, Block, Direction, Event, Key};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{self, Answer, Positions, error};
use crate::composer::Composer;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A key that the settlement minds (C-4). */
export type SettlingKey =
  | "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End" | "Backspace";

/**
 * What happened in the editor. Positions are those of the block that holds the caret: before an input or
 * a key, after everything else.
 */
export type CaretEvent =
  /** A mention was inserted; the caret stands there, behind its separator (S-7). */
  | { type: "inserted"; at: number }
  /** The selection is this now, and neither a key nor a click of the writer has moved it. */
  | { type: "selected"; from: number; to: number }
  /** The document changed otherwise (C-5). */
  | { type: "changed" }
  /** Text is about to replace a range; it may be empty. A paste as well. */
  | { type: "input"; from: number; to: number; typed: string }
  /** A key is about to act. */
  | { type: "pressed"; key: SettlingKey; caret: number; isRtl?: boolean }
  /** A click has put the caret there. */
  | { type: "clicked"; caret: number; onChip: boolean }
  /** An input method begins to compose there. */
  | { type: "compositionStarted"; at: number }
  /** It has ended, and what it committed stands there. */
  | { type: "compositionEnded"; from: number; to: number }
  /** Undo or redo, new content, a drop, the loss of focus, the end of the editor. */
  | { type: "left" };
"#;

/// A `CaretEvent` as it comes: which fields it has its type says. (An enum with a tag would have to be
/// read twice, and double what reading weighs.)
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct RawCaretEvent {
    /// What happened.
    pub r#type: EventType,
    /// Where a mention was inserted, or composing begins.
    pub at: Option<usize>,
    /// Where a range begins.
    pub from: Option<usize>,
    /// Where it ends.
    pub to: Option<usize>,
    /// What is typed.
    pub typed: Option<String>,
    /// Which key.
    #[tsify(type = "SettlingKey")]
    pub key: Option<Key>,
    /// Whether the block is written from right to left.
    pub is_rtl: Option<bool>,
    /// Where the caret stands.
    pub caret: Option<usize>,
    /// Whether a click was on a chip.
    pub on_chip: Option<bool>,
}

/// The types of a `CaretEvent`.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub enum EventType {
    /// A mention was inserted.
    Inserted,
    /// The selection is another.
    Selected,
    /// The document changed otherwise.
    Changed,
    /// Text is about to replace a range.
    Input,
    /// A key is about to act.
    Pressed,
    /// A click has put the caret.
    Clicked,
    /// An input method begins to compose.
    CompositionStarted,
    /// It has ended.
    CompositionEnded,
    /// Something else than typing.
    Left,
}

/// What the editor does. Everything but `moveCaret` is one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum CaretAction {
    /// Nothing: what the editor does by itself is right.
    None,
    /// Put the caret there, in the model, and in the DOM if the editor has the focus (C-2).
    MoveCaret {
        /// Where.
        at: usize,
    },
    /// Insert this in place of the input, and put the caret behind it (C-3).
    Insert {
        /// Where.
        at: usize,
        /// What.
        text: String,
    },
    /// Delete this in place of the key's own effect (C-4).
    Delete {
        /// Where it begins.
        from: usize,
        /// Where it ends.
        to: usize,
    },
    /// Move the text of this range behind the separator that follows it, in the same undo step as the
    /// composition, and put the caret behind it (C-6).
    MoveText {
        /// Where what was composed begins.
        from: usize,
        /// Where it ends.
        to: usize,
        /// Where it goes, counted in the text as it stands.
        target: usize,
    },
}

fn read<'e>(event: &'e RawCaretEvent, positions: &Positions<'_>) -> Answer<Event<'e>> {
    let missing = |name: &str| error("bad_value", &format!("the event has no `{name}`"));
    let at = |place: Option<usize>, name: &str| positions.bytes(place.ok_or_else(|| missing(name))?);
    let span = || {
        let (from, to) = event.from.zip(event.to).ok_or_else(|| missing("from` and `to"))?;
        positions.span(from, to)
    };
    Ok(match event.r#type {
        EventType::Inserted => Event::Inserted(at(event.at, "at")?),
        EventType::Selected => Event::Selected(span()?),
        EventType::Changed => Event::Changed,
        EventType::Input => {
            Event::Input { range: span()?, typed: event.typed.as_deref().ok_or_else(|| missing("typed"))? }
        }
        EventType::Pressed => Event::Pressed {
            key: event.key.ok_or_else(|| missing("key"))?,
            direction: if event.is_rtl == Some(true) { Direction::Rtl } else { Direction::Ltr },
            caret: at(event.caret, "caret")?,
        },
        EventType::Clicked => {
            Event::Clicked { caret: at(event.caret, "caret")?, on_chip: event.on_chip == Some(true) }
        }
        EventType::CompositionStarted => Event::CompositionStarted(at(event.at, "at")?),
        EventType::CompositionEnded => Event::CompositionEnded(span()?),
        EventType::Left => Event::Left,
    })
}

fn written(action: Action, positions: &Positions<'_>) -> CaretAction {
    match action {
        Action::None => CaretAction::None,
        Action::MoveCaret(at) => CaretAction::MoveCaret { at: positions.units(at) },
        Action::Insert(redirect) => {
            CaretAction::Insert { at: positions.units(redirect.at), text: redirect.text }
        }
        Action::Delete(span) => {
            let (from, to) = positions.range(span);
            CaretAction::Delete { from, to }
        }
        Action::MoveText { from, to } => {
            let target = positions.units(to);
            let (from, to) = positions.range(from);
            CaretAction::MoveText { from, to, target }
        }
    }
}

#[wasm_bindgen]
impl Composer {
    /// Tells the settlement what happened in the block with this text; answers what to do (C).
    pub fn caret(
        &self,
        text: &str,
        #[wasm_bindgen(unchecked_param_type = "CaretEvent")] event: Ts<RawCaretEvent>,
    ) -> Answer<Ts<CaretAction>> {
        let (event, positions) = (border::read(&event)?, Positions::of(text));
        let event = read(&event, &positions)?;
        let action = self.with_known(|known| {
            let mut settlement = self.caret.borrow_mut();
            settlement.on(event, &Block::new(text, known))
        });
        border::write(&written(action, &positions))
    }

    /// Whether a mention was inserted and nothing typed since (C-2). Only then need events be told.
    #[wasm_bindgen(getter, js_name = isSettling)]
    pub fn is_settling(&self) -> bool {
        self.caret.borrow().armed_at().is_some()
    }

    /// Whether the first input is being composed by an input method (C-6).
    #[wasm_bindgen(getter, js_name = isComposing)]
    pub fn is_composing(&self) -> bool {
        self.caret.borrow().is_composing()
    }
}
