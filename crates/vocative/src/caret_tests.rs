//! Tables: a block with its caret marked by `|`, what happens, and what stands there then.

use proptest::prelude::*;

use super::*;
use crate::known::Labels;
use editor::{Do, Editor};

#[path = "caret_test_editor.rs"]
mod editor;

fn offset(at: usize) -> ByteOffset {
    ByteOffset::at(at)
}

#[test]
fn flows() {
    let pick = Do::Pick("Grace Hopper");
    for (id, start, steps, expected, armed) in [
        ("caret-022", "Hey @Gra|", vec![pick, Do::Type("hello")], "Hey @Grace Hopper hello|", false),
        (
            "caret-022 remapped",
            "Hey @Gra|",
            vec![pick, Do::Remap(17), Do::Type("x"), Do::Type("y")],
            "Hey @Grace Hopper xy|",
            false,
        ),
        (
            "caret-021",
            "hello| world",
            vec![Do::Type(" "), Do::Type("@"), Do::Type("q"), Do::Remap(8), Do::Type("u")],
            "hello @qu| world",
            false,
        ),
        ("flows-n13", "Hey @Gra|", vec![pick, Do::Undo], "Hey @Gra|", false),
        ("flows-n14", "Hey @Gra|", vec![pick, Do::Press(Key::Backspace)], "Hey @Grace Hopper|", false),
        (
            "a caret put elsewhere",
            "@Gra|",
            vec![pick, Do::Remap(3), Do::Press(Key::Home), Do::Leave],
            "@Gr|ace Hopper ",
            false,
        ),
        (
            "flows-n15",
            "|",
            vec![Do::Pick("Ada"), Do::Remap(4), Do::Compose(&["に", "日", "日本"])],
            "@Ada 日本|",
            false,
        ),
        (
            "caret/arrow",
            "|",
            vec![Do::Pick("Ada"), Do::Press(Key::ArrowLeft), Do::Type("x")],
            "@Adax| ",
            false,
        ),
        ("a click on the chip", "|", vec![Do::Pick("Ada"), Do::Click(5), Do::Type("x")], "@Adax| ", false),
        (
            "a click inside the chip",
            "|",
            vec![Do::Pick("Ada"), Do::Click(2), Do::Type("x")],
            "@Ax|da ",
            false,
        ),
        ("an inner space", "@Gra|", vec![pick, Do::Remap(6), Do::Type("x")], "@Gracex| Hopper ", false),
        (
            "an arrow the other way",
            "|",
            vec![Do::Pick("Ada"), Do::Press(Key::ArrowRight), Do::Type("x")],
            "@Ada x|",
            false,
        ),
        (
            "rewritten spaces",
            "| world",
            vec![Do::Pick("Ada"), Do::Replace(4, 6, "\u{a0}x"), Do::Type("y")],
            "@Ada xy| world",
            false,
        ),
        ("blur", "|", vec![Do::Pick("Ada"), Do::Leave, Do::Remap(4), Do::Type("x")], "@Adax| ", false),
        (
            "a cancelled composition",
            "|",
            vec![Do::Pick("Ada"), Do::Compose(&["に", ""]), Do::Remap(4), Do::Type("x")],
            "@Ada x|",
            false,
        ),
        ("still armed", "|", vec![Do::Pick("Ada"), Do::Remap(4)], "@Ada |", true),
        ("picks in a row", "|", vec![Do::Pick("Ada"), Do::Pick("Bob")], "@Bob |", true),
    ] {
        let mut editor = Editor::new(start, &[]);
        for step in steps {
            editor.run(step);
        }
        assert_eq!(editor.marked(), expected, "{id}");
        assert_eq!(editor.settlement.armed_at().is_some(), armed, "{id}");
    }
}

#[test]
fn one_undo_takes_a_composition_back() {
    let mut editor = Editor::new("|", &[]);
    editor.run(Do::Pick("Ada"));
    editor.history.clear();
    let before = (editor.text.clone(), editor.caret);
    editor.caret = 4;
    editor.history.push(before);
    editor.run(Do::Compose(&["に", "日本"]));
    assert_eq!((editor.marked().as_str(), editor.history.len()), ("@Ada 日本|", 1), "flows-n15");
    editor.run(Do::Undo);
    assert_eq!(editor.text, "@Ada ");
}

#[test]
fn the_arrow_toward_the_label_turns_with_the_text() {
    let mut editor = Editor::new("@על|", &[]);
    editor.direction = Direction::Rtl;
    for step in [Do::Pick("עלי"), Do::Press(Key::ArrowRight), Do::Type("x")] {
        editor.run(step);
    }
    assert_eq!(editor.text, "@עליx ", "flows-n16");
}

#[test]
fn editors_are_settled_apart() {
    let labels = Labels::default();
    let block = Block::new("@Ada xxxxxxx", &Known::from(&labels));
    let (mut a, mut b) = (CaretSettlement::new(), CaretSettlement::new());
    a.on(Event::Inserted(offset(8)), &block);
    b.on(Event::Inserted(offset(12)), &block);
    a.on(Event::Left, &block);
    assert_eq!((a.armed_at(), b.armed_at()), (None, Some(offset(12))), "caret-024");
}

#[test]
fn what_disarms() {
    let labels = Labels::default();
    let block = Block::new("@Ada ", &Known::from(&labels));
    let at = offset(5);
    let pressed = |key| Event::Pressed { key, direction: Direction::Ltr, caret: at };
    let keys = [
        Key::ArrowLeft,
        Key::ArrowRight,
        Key::ArrowUp,
        Key::ArrowDown,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Backspace,
    ];
    let others = [
        Event::Clicked { caret: at, on_chip: false },
        Event::Selected(Span::at(0, 5)),
        Event::Left,
        Event::Input { range: Span::at(5, 5), typed: "x" },
    ];
    for event in keys.into_iter().map(pressed).chain(others) {
        let mut settlement = CaretSettlement::new();
        settlement.on(Event::Inserted(at), &block);
        settlement.on(event, &block);
        assert_eq!(settlement, CaretSettlement::new(), "caret-025: {event:?}");
    }
    let mut settlement = CaretSettlement::new();
    settlement.on(Event::Inserted(at), &block);
    let caret = offset(4);
    let backspace = Event::Pressed { key: Key::Backspace, direction: Direction::Ltr, caret };
    assert_eq!(settlement.on(backspace, &block), Action::Delete(Span::at(4, 5)), "at the edge");
    let mut settlement = CaretSettlement::new();
    settlement.on(Event::Inserted(at), &block);
    assert_eq!(settlement.on(Event::Changed, &block), Action::None);
    assert_eq!(settlement.armed_at(), Some(at));
}

#[test]
fn edges() {
    for (marked, labels, expected) in [
        ("@Ada| x", &[][..], true),
        ("@Ada x| y", &["Ada x"], true),
        ("@Ada| x y", &["Ada x"], false),
        ("@Ada|", &[], false),
        ("@| x", &[], false),
        ("x@Ada| y", &[], false),
        ("(#general| y", &[], true),
        ("@Ada,| y", &["Ada"], true),
        ("@a@b| y", &[], true),
        ("@Ada|\u{3000}", &[], true),
        ("@Ada|\u{2028}", &[], false),
        ("@Ada x| y", &["Ada"], false),
        ("＠Ada| y", &[], false),
        ("@Ada|\u{200b}x", &[], true),
        ("@Ada|\tx", &[], true),
        ("#x| y", &[], true),
        ("\\_@x| y", &[], true),
        ("\u{301}@x| y", &[], false),
        ("@Senior Ada's| y", &["Senior Ada"], false),
        // A token that is joined to a known occurrence has L fine too (G-12).
        ("@Senior Ada/@x| y", &["Senior Ada"], true),
        ("@Senior Ada+#x| y", &["Senior Ada"], true),
        ("@Senior Ada++@x| y", &["Senior Ada"], false),
        ("@Senior Ada/@x| y", &["Ada"], false),
    ] {
        let editor = Editor::new(marked, labels);
        let known = Known::from(&editor.labels);
        let block = Block::new(&editor.text, &known);
        let edge = block.after_separator(offset(editor.caret));
        assert_eq!(edge.is_some(), expected, "{marked}");
    }
}

#[test]
fn first_inputs() {
    for (text, range, typed, expected) in [
        ("@ada ", 4..4, " x ", Some((5, " x "))),
        ("@ada ", 4..4, "", None),
        ("@ada ", 4..5, "\u{a0}x y ", Some((5, "x y"))),
        ("@ada ", 4..5, " ", None),
        ("@ada  ", 5..6, "x", Some((5, "x"))),
        ("@ada   ", 6..7, "x", None),
        ("@ada \n", 4..6, "x", Some((5, "x"))),
        ("@ada\n", 4..5, "x", None),
        ("@ada x", 3..5, "y", None),
    ] {
        let labels = Labels::default();
        let block = Block::new(text, &Known::from(&labels));
        let redirect = block.redirect(Span::at(range.start, range.end), typed);
        let found = redirect.as_ref().map(|redirect| (redirect.at.get(), redirect.text.as_str()));
        assert_eq!(found, expected, "{text:?} {range:?} {typed:?}");
    }
}

proptest! {
    /// Whatever happens, positions stay in the text and on character boundaries.
    #[test]
    fn positions_are_good(
        text in "[a@#é\u{a0}\u{3000} \n.]{0,10}",
        steps in prop::collection::vec((0..8_u8, 0_usize..24, 0_usize..24), 0..8),
    ) {
        let labels: Labels = ["a", "a a"].into_iter().collect();
        let block = Block::new(&text, &Known::from(&labels));
        let mut settlement = CaretSettlement::new();
        let good = |at: usize| offset((0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
        settlement.on(Event::Inserted(good(3)), &block);
        for (what, a, b) in steps {
            let (a, b) = (good(a.min(b)), good(a.max(b)));
            let span = Span { start: a, end: b };
            let event = match what {
                0 => Event::Inserted(a),
                1 => Event::Selected(Span { start: a, end: a }),
                2 => Event::Input { range: span, typed: " x" },
                3 => Event::Pressed { key: Key::ArrowLeft, direction: Direction::Ltr, caret: a },
                4 => Event::Pressed { key: Key::Backspace, direction: Direction::Ltr, caret: a },
                5 => Event::CompositionStarted(a),
                6 => Event::CompositionEnded(span),
                _ => Event::Clicked { caret: a, on_chip: true },
            };
            let places = match settlement.on(event, &block) {
                Action::None => vec![],
                Action::MoveCaret(at) => vec![at],
                Action::Insert(redirect) => vec![redirect.at],
                Action::Delete(span) => vec![span.start, span.end],
                Action::MoveText { from, to } => vec![from.start, from.end, to],
            };
            for at in places {
                prop_assert!(text.is_char_boundary(at.get()));
            }
        }
    }
}
