//! The operations by name.

mod choice;
mod clipboard;
mod editor;
mod given;
mod history;
mod present;
mod text;
mod wire;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// What an operation answers, or why it could not.
pub(crate) type Answer = Result<Value, String>;

/// Answers one `given`.
///
/// # Errors
/// An unknown operation, or a `given` that is not of its shape.
pub fn run(given: &Value) -> Answer {
    let op = given.get("op").and_then(Value::as_str).ok_or("`op` is missing")?;
    match op {
        "label_offsets" => text::label_offsets(read(given)?),
        "occurrences" => text::occurrences(read(given)?),
        "extract" => text::extract(read(given)?),
        "diagnose" => text::diagnose(read(given)?),
        "draft_refs" => text::draft_refs(read(given)?),
        "evict_bindings" => text::evict_bindings(read(given)?),
        "reserve_label" => choice::reserve_label(read(given)?),
        "reserve_labels" => choice::reserve_labels(read(given)?),
        "paste_fence" => choice::paste_fence(read(given)?),
        "clip_build" => clipboard::clip_build(read(given)?),
        "clip_parse" => clipboard::clip_parse(read(given)?),
        "clip_visible" => clipboard::clip_visible(read(given)?),
        "label_trust" => clipboard::label_trust(read(given)?),
        "chip_match" => clipboard::chip_match(read(given)?),
        "truncate_key" => present::truncate_key(read(given)?),
        "display_label" => present::display_label(read(given)?),
        "cap_chip" => present::cap_chip(read(given)?),
        "render_matches" | "highlight_matches" => present::matches(read(given)?),
        "caret_after_separator" => editor::caret_after_separator(read(given)?),
        "caret_input" => editor::caret_input(read(given)?),
        "caret_arrow_left" => editor::caret_arrow_left(read(given)?),
        "trigger" => editor::open_picker(read(given)?),
        "insert_pick" => editor::insert_pick(read(given)?),
        "rank" => editor::rank(read(given)?),
        "resolve_history" => history::resolve_history(read(given)?),
        "edit_open" => history::edit_open(read(given)?),
        "edit_submit" => history::edit_submit(read(given)?),
        "edit_overlay" => history::edit_overlay(read(given)?),
        "added_on_edit" => history::added_on_edit(read(given)?),
        "order_by_text" => history::order_by_text(read(given)?),
        "address_tray" => history::address_tray(read(given)?),
        "forward" => history::forward(read(given)?),
        "mention_ranges" => history::mention_ranges(read(given)?),
        "merge_recipients" => wire::merge_recipients(read(given)?),
        "strip_prefix" => wire::strip_prefix(read(given)?),
        "reference_tag" => wire::reference_tag(read(given)?),
        "mention_tags" => wire::mention_tags(read(given)?),
        _ => Err(format!("unknown operation `{op}`")),
    }
}

/// The fields of a `given`. A field that is null counts as absent.
fn read<T: DeserializeOwned>(given: &Value) -> Result<T, String> {
    let fields = given.as_object().ok_or("`given` is no object")?;
    let present = fields.iter().filter(|(_, value)| !value.is_null());
    let present: serde_json::Map<_, _> = present.map(|(name, value)| (name.clone(), value.clone())).collect();
    serde_json::from_value(Value::Object(present)).map_err(|error| error.to_string())
}
