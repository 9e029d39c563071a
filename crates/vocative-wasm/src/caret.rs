//! Where typing goes after a mention was inserted (C).

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::caret::{Action, Block, Direction, Event, Key};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{self, Answer, Positions};
use crate::composer::Composer;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A key that the settlement minds (C-4). */
export type SettlingKey =
  | "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End" | "Backspace";
"#;

/// What happened in the editor. Positions are those of the block that holds the caret: before an
/// input or a key, after everything else.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum CaretEvent {
    /// A mention was inserted; the caret stands there, behind its separator (S-7).
    Inserted {
        /// The caret.
        at: usize,
    },
    /// The selection is this now, and neither a key nor a click of the writer has moved it.
    Selected {
        /// Where it begins.
        from: usize,
        /// Where it ends.
        to: usize,
    },
    /// The document changed otherwise (C-5).
    Changed,
    /// Text is about to replace a range; it may be empty. A paste as well.
    Input {
        /// Where the range begins.
        from: usize,
        /// Where it ends.
        to: usize,
        /// The text.
        typed: String,
    },
    /// A key is about to act.
    Pressed {
        /// Which.
        #[tsify(type = "SettlingKey")]
        key: Key,
        /// Whether the block is written from right to left.
        #[serde(default, rename = "isRtl")]
        is_rtl: bool,
        /// Where the caret stands.
        caret: usize,
    },
    /// A click has put the caret there.
    Clicked {
        /// Where the browser put it.
        caret: usize,
        /// Whether the click was on a chip.
        #[serde(rename = "onChip")]
        on_chip: bool,
    },
    /// An input method begins to compose there.
    CompositionStarted {
        /// The caret.
        at: usize,
    },
    /// It has ended, and what it committed stands there.
    CompositionEnded {
        /// Where it begins.
        from: usize,
        /// Where it ends.
        to: usize,
    },
    /// Undo or redo, new content, a drop, the loss of focus, the end of the editor.
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

fn read<'e>(event: &'e CaretEvent, positions: &Positions<'_>) -> Answer<Event<'e>> {
    Ok(match event {
        CaretEvent::Inserted { at } => Event::Inserted(positions.bytes(*at)?),
        CaretEvent::Selected { from, to } => Event::Selected(positions.span(*from, *to)?),
        CaretEvent::Changed => Event::Changed,
        CaretEvent::Input { from, to, typed } => Event::Input { range: positions.span(*from, *to)?, typed },
        CaretEvent::Pressed { key, is_rtl, caret } => Event::Pressed {
            key: *key,
            direction: if *is_rtl { Direction::Rtl } else { Direction::Ltr },
            caret: positions.bytes(*caret)?,
        },
        CaretEvent::Clicked { caret, on_chip } => {
            Event::Clicked { caret: positions.bytes(*caret)?, on_chip: *on_chip }
        }
        CaretEvent::CompositionStarted { at } => Event::CompositionStarted(positions.bytes(*at)?),
        CaretEvent::CompositionEnded { from, to } => Event::CompositionEnded(positions.span(*from, *to)?),
        CaretEvent::Left => Event::Left,
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
    pub fn caret(&self, text: &str, event: Ts<CaretEvent>) -> Answer<Ts<CaretAction>> {
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
