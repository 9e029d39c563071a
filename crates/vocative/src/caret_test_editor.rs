//! An editor for the tables of the caret.

use super::*;
use crate::trigger::Insertion;

/// An editor with one block, which does what the settlement says and else what a browser does.
pub(super) struct Editor {
    pub(super) text: String,
    pub(super) caret: usize,
    pub(super) labels: Labels,
    pub(super) settlement: CaretSettlement,
    /// Texts before each step of the history.
    pub(super) history: Vec<(String, usize)>,
    pub(super) direction: Direction,
}

/// What a writer or a browser does.
#[derive(Clone, Copy)]
pub(super) enum Do<'d> {
    /// Picks a label for the query that ends at the caret.
    Pick(&'d str),
    /// The browser puts the caret there.
    Remap(usize),
    Type(&'d str),
    /// The browser replaces a range in one input.
    Replace(usize, usize, &'d str),
    Press(Key),
    /// Clicks a chip; the caret comes to rest there.
    Click(usize),
    /// Composes at the caret, and commits the last.
    Compose(&'d [&'d str]),
    Undo,
    Leave,
}

impl Editor {
    pub(super) fn new(marked: &str, labels: &[&str]) -> Self {
        Self {
            text: marked.replace('|', ""),
            caret: marked.find('|').unwrap_or(marked.len()),
            labels: labels.iter().collect(),
            settlement: CaretSettlement::new(),
            history: Vec::new(),
            direction: Direction::Ltr,
        }
    }

    fn tell(&mut self, event: Event<'_>) -> Action {
        let known = Known::from(&self.labels);
        self.settlement.on(event, &Block::new(&self.text, &known))
    }

    fn replace(&mut self, start: usize, end: usize, text: &str) {
        self.history.push((self.text.clone(), self.caret));
        self.text.replace_range(start..end, text);
        self.caret = start + text.len();
    }

    fn act(&mut self, action: Action) -> bool {
        match action {
            Action::None => return false,
            Action::MoveCaret(at) => self.caret = at.get(),
            Action::Insert(Redirect { at, text }) => self.replace(at.get(), at.get(), &text),
            Action::Delete(span) => self.replace(span.start.get(), span.end.get(), ""),
            Action::MoveText { from, to } => {
                let moved = self.text[from.bytes()].to_owned();
                let steps = self.history.len();
                self.replace(to.get(), to.get(), &moved);
                self.replace(from.start.get(), from.end.get(), "");
                self.history.truncate(steps);
                self.caret = to.get();
            }
        }
        true
    }

    pub(super) fn run(&mut self, step: Do<'_>) {
        match step {
            Do::Pick(label) => {
                let start = self.text[..self.caret].rfind('@').unwrap_or(self.caret);
                let span = Span::at(start, self.caret);
                let insertion = Insertion::new(&self.text, span, label, &Known::from(&self.labels));
                self.history.push((self.text.clone(), self.caret));
                self.text = insertion.apply(&self.text);
                self.caret = insertion.caret.get();
                self.labels = [label].into_iter().collect();
                self.tell(Event::Inserted(insertion.caret));
            }
            Do::Remap(at) => {
                self.caret = at;
                let action = self.tell(Event::Selected(Span::at(at, at)));
                self.act(action);
            }
            Do::Type(text) => self.run(Do::Replace(self.caret, self.caret, text)),
            Do::Replace(start, end, typed) => {
                let range = Span::at(start, end);
                let action = self.tell(Event::Input { range, typed });
                if !self.act(action) {
                    self.replace(start, end, typed);
                }
            }
            Do::Press(key) => {
                let (direction, caret) = (self.direction, offset(self.caret));
                let action = self.tell(Event::Pressed { key, direction, caret });
                if !self.act(action) {
                    let back = self.text[..self.caret].chars().next_back().map_or(0, char::len_utf8);
                    match key {
                        Key::ArrowLeft => self.caret -= back,
                        Key::Backspace => self.replace(self.caret - back, self.caret, ""),
                        _ => {}
                    }
                }
            }
            Do::Click(at) => {
                self.caret = at;
                let action = self.tell(Event::Clicked { caret: offset(at), on_chip: true });
                self.act(action);
            }
            Do::Compose(texts) => {
                let start = self.caret;
                assert_eq!(self.tell(Event::CompositionStarted(offset(start))), Action::None);
                let mut end = start;
                for text in texts {
                    let range = Span::at(start, end);
                    assert_eq!(self.tell(Event::Input { range, typed: text }), Action::None);
                    self.text.replace_range(start..end, text);
                    end = start + text.len();
                    self.caret = end;
                    assert_eq!(self.tell(Event::Selected(Span::at(end, end))), Action::None);
                }
                let action = self.tell(Event::CompositionEnded(Span::at(start, end)));
                self.act(action);
            }
            Do::Undo => {
                if let Some((text, caret)) = self.history.pop() {
                    (self.text, self.caret) = (text, caret);
                }
                self.tell(Event::Left);
            }
            Do::Leave => {
                self.tell(Event::Left);
            }
        }
    }

    pub(super) fn marked(&self) -> String {
        format!("{}|{}", &self.text[..self.caret], &self.text[self.caret..])
    }
}
