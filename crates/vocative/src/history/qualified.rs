//! Literals of a text that spell out a tagged key: candidates for aliases (H-3).

use std::collections::HashMap;

use crate::chars::{is_line_end, is_zs};
use crate::form::form;
use crate::id::Key;
use crate::label::{matchable, qualified, trim};
use crate::limits;

use super::Profiles;

/// `BASE (KEY)` or `BASE (KEY) n` somewhere in a text, KEY tagged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'t> {
    pub(super) literal: &'t str,
    pub(super) base: &'t str,
    pub(super) key: Key,
}

/// All candidates of a text. Whether one wins its place is decided in the competition.
///
/// `tagged` is sorted. Every bracketed key is looked at once, and no further back than the longest
/// label reaches, so the work is linear in the text.
pub(super) fn candidates<'t>(text: &'t str, tagged: &[Key], profiles: &Profiles) -> Vec<Candidate<'t>> {
    let mut found = Vec::new();
    if tagged.is_empty() {
        return found;
    }
    let nested = nested_aliases(tagged, profiles);
    for open in memchr::memchr_iter(b'(', text.as_bytes()) {
        let close = open + 1 + Key::DIGITS;
        if text.as_bytes().get(close) != Some(&b')') {
            continue;
        }
        let Some(key) = text.get(open + 1..close).and_then(|key| key.parse().ok()) else {
            continue;
        };
        if tagged.binary_search(&key).is_err() {
            continue;
        }
        let mut before = text[..open].chars();
        if !before.next_back().is_some_and(is_zs) {
            continue;
        }
        let before = before.as_str();
        let mut push = |base: &'t str| {
            if trim(base) != base {
                return;
            }
            let start = before.len() - base.len();
            for end in [close + 1].into_iter().chain(number_end(text, close + 1)) {
                let literal = &text[start..end];
                if qualified(literal).is_some() {
                    found.push(Candidate { literal, base, key });
                }
            }
        };
        if let Some(base) = behind_sign(before, 0) {
            push(base);
        }
        // A base with signs inside must be an alias, so its signs tell where it begins.
        for (signs, alias) in nested.get(&key).into_iter().flatten() {
            let base = behind_sign(before, *signs);
            if let Some(base) = base.filter(|base| form(base) == *alias) {
                push(base);
            }
        }
    }
    found
}

/// The aliases that hold signs: how many, and the form.
fn nested_aliases(tagged: &[Key], profiles: &Profiles) -> HashMap<Key, Vec<(usize, String)>> {
    let mut nested: HashMap<Key, Vec<(usize, String)>> = HashMap::new();
    for (key, profile) in tagged.iter().filter_map(|key| profiles.get_key_value(key)) {
        for alias in profile.aliases().filter(|alias| alias.contains('@')) {
            if matches!(matchable(alias), Ok(Some(_))) {
                let signs = memchr::memchr_iter(b'@', alias.as_bytes()).count();
                nested.entry(*key).or_default().push((signs, form(alias)));
            }
        }
    }
    nested
}

/// What stands behind a sign at the end of `before`, with `inner` signs inside; on one line, and no
/// longer than a label may be.
fn behind_sign(before: &str, inner: usize) -> Option<&str> {
    let mut passed = 0;
    let mut back = before.char_indices().rev().take(limits::LABEL);
    let at = back.by_ref().take_while(|&(_, c)| !is_line_end(c)).find(|&(_, c)| {
        passed += usize::from(c == '@');
        passed > inner
    });
    at.map(|(at, _)| &before[at + 1..])
}

/// The end of a collision number behind a bracketed key that ends at `end`.
fn number_end(text: &str, end: usize) -> Option<usize> {
    let space = text[end..].chars().next().filter(|&c| is_zs(c))?;
    let from = end + space.len_utf8();
    let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(from + digits)
}
