//! What generated mentions do to the start of a draft: no other name may change its meaning.

use super::{Generated, TextEdit};
use crate::chars::is_zs;
use crate::draft::Binding;
use crate::id::Id;
use crate::offset::Span;
use crate::reading::{Occurrence, Reading, Scope};

/// Whether `after` are the occurrences of `before`, moved by `from` to `to` at the start.
fn is_moved(before: &[Occurrence], from: usize, after: &[Occurrence], to: usize) -> bool {
    let is_same = |before: &Occurrence, after: &Occurrence| {
        before.span.start.get() + to == after.span.start.get() + from
            && before.span.len() == after.span.len()
            && before.place == after.place
            && before.owners == after.owners
    };
    let mut pairs = before.iter().zip(after);
    before.len() == after.len() && pairs.all(|(before, after)| is_same(before, after))
}

/// The deletion of W-4. Where deleting only the label and its space would change what another name
/// means, a joint behind the label goes too (`@Ada/@Grace`); where that does not help, nothing goes.
pub(super) fn leading_mention(id: &Id, reading: &Reading<'_>) -> Option<TextEdit> {
    let (first, others) = reading.occurrences().split_first()?;
    let is_bound = first.owners.is_selected && first.owners.keys.as_slice() == [id.clone()];
    if !is_bound || first.span.start.get() != 0 {
        return None;
    }
    let end = first.span.end.get();
    let next = reading.text[end..].chars().next();
    let past = |c: char| end + c.len_utf8();
    let space = next.filter(|&c| is_zs(c)).map(past);
    let joins = |at: &usize| others.first().is_some_and(|next| next.span.start.get() == *at);
    let joint = next.map(past).filter(joins);
    let ends = [space.or(Some(end)), joint];
    ends.into_iter().flatten().find_map(|end| {
        let after = reading.scope.read(&reading.text[end..]);
        let is_safe = is_moved(others, end, after.occurrences(), 0);
        is_safe.then(|| TextEdit { span: Span::at(0, end), text: String::new() })
    })
}

/// The text that W-2 and W-5 put at the very start. Before a quote, a code block or the like it ends
/// with a blank line: behind other text on one line those would be read as the writer's own words,
/// and name somebody.
pub(super) fn prefix(reading: &Reading<'_>, bindings: &[Binding], generated: &mut [Generated]) -> String {
    let plain: String = generated.iter().map(|piece| piece.prefix.as_str()).collect();
    let mut draft = reading.scope.draft.clone();
    for binding in bindings {
        draft.bind(&binding.label, binding.id.clone());
    }
    let scope = Scope { draft: &draft, ..reading.scope };
    let is_safe = |prefix: &str| {
        let text = format!("{prefix}{}", reading.text);
        let after = scope.read(&text);
        let split = after.occurrences().split_at_checked(generated.len());
        split.is_some_and(|(own, others)| {
            let mut own = own.iter();
            own.all(|own| own.span.end.get() < prefix.len())
                && is_moved(reading.occurrences(), 0, others, prefix.len())
        })
    };
    let parted = format!("{plain}\n\n");
    if is_safe(&plain) || !is_safe(&parted) {
        return plain;
    }
    if let Some(last) = generated.last_mut() {
        last.prefix.push_str("\n\n");
    }
    parted
}
