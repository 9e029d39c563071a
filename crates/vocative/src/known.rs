//! The labels an editor knows: what a block of text is read against (G-1, G-20).
//!
//! Mentions and channels follow the same rules and differ in their sign. What a label stands for is
//! not asked here.

use smallvec::SmallVec;

use crate::boundary::{is_joined, left_is_fine};
use crate::context::Contexts;
use crate::form::form;
use crate::index::LabelIndex;
use crate::label::matchable;
use crate::offset::Span;
use crate::reading::Scope;
use crate::scan::{Accepted, Layer, Scan};

/// A set of labels without identities. Labels that can never match (G-9) are left out.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    index: LabelIndex,
}

impl Labels {
    /// Whether a label equal to `label` is in the set (G-7).
    pub fn contains(&self, label: &str) -> bool {
        let label = matchable(label).ok().flatten();
        label.is_some_and(|label| self.index.get(&form(label)).is_some())
    }
}

impl<S: AsRef<str>> FromIterator<S> for Labels {
    fn from_iter<I: IntoIterator<Item = S>>(labels: I) -> Self {
        let mut set = Self::default();
        for label in labels {
            if let Ok(Some(label)) = matchable(label.as_ref()) {
                set.index.insert(&form(label));
            }
        }
        set
    }
}

/// Everything that competes in an editor's text: labels behind `@`, and channels behind `#`.
#[derive(Clone)]
pub struct Known<'k> {
    layers: SmallVec<[Layer<'k>; 3]>,
}

impl<'k> From<Scope<'k>> for Known<'k> {
    /// The names of a channel and the labels of a draft.
    fn from(scope: Scope<'k>) -> Self {
        Self { layers: scope.layers().into_iter().collect() }
    }
}

impl<'k> From<&'k Labels> for Known<'k> {
    /// Labels behind `@`.
    fn from(labels: &'k Labels) -> Self {
        Self { layers: smallvec::smallvec![Layer::mentions(&labels.index)] }
    }
}

impl<'k> Known<'k> {
    /// With channel labels behind `#`, which compete in the same pass (G-1).
    #[must_use]
    pub fn with_channels(mut self, channels: &'k Labels) -> Self {
        self.layers.push(Layer { sign: b'#', index: &channels.index });
        self
    }

    /// The ranges that known labels own, in text order, signs included (O-1 to O-3).
    ///
    /// For highlighting: the same ranges as those that route, and channels beside them.
    pub fn occurrences(&self, text: &str, contexts: &Contexts) -> Vec<Span> {
        owned(&self.scan(text, contexts))
    }

    /// The accepted ranges, those of G-16 included.
    pub(crate) fn scan(&self, text: &str, contexts: &Contexts) -> Vec<Accepted> {
        Scan::new(text, contexts, self.layers.as_slice()).collect()
    }

    /// Whether a label behind `@` begins with this form (S-2).
    pub(crate) fn has_prefix(&self, form: &str) -> bool {
        self.mentions().any(|index| index.has_prefix(form))
    }

    /// Whether a label behind `@` has this form.
    pub(crate) fn has(&self, form: &str) -> bool {
        self.mentions().any(|index| index.get(form).is_some())
    }

    fn mentions(&self) -> impl Iterator<Item = &'k LabelIndex> {
        let mentions = self.layers.iter().filter(|layer| layer.sign == b'@');
        mentions.map(|layer| layer.index)
    }
}

/// The accepted ranges that labels own.
pub(crate) fn owned(accepted: &[Accepted]) -> Vec<Span> {
    let owned = accepted.iter().filter(|accepted| !accepted.owners.is_empty());
    owned.map(|accepted| Span::at(accepted.start, accepted.end)).collect()
}

/// Where a mention may begin in the text of one block: its left boundaries and the ranges that join
/// (G-11, G-12).
pub(crate) struct Joints<'t> {
    text: &'t str,
    /// The ends of the accepted ranges.
    ends: Vec<usize>,
}

impl<'t> Joints<'t> {
    /// The block as the known labels divide it; the editor knows by itself what is code (G-20).
    pub(crate) fn of(text: &'t str, known: &Known<'_>) -> Self {
        Self::between(text, &known.scan(text, &Contexts::all_prose()))
    }

    /// The same, where the accepted ranges are known.
    pub(crate) fn between(text: &'t str, accepted: &[Accepted]) -> Self {
        Self { text, ends: accepted.iter().map(|accepted| accepted.end).collect() }
    }

    /// Whether L is fine at `sign`, joined mentions included.
    pub(crate) fn let_begin(&self, sign: usize) -> bool {
        if left_is_fine(self.text, sign) {
            return true;
        }
        let before = self.ends.partition_point(|&end| end < sign);
        let last = before.checked_sub(1).map(|at| self.ends[at]);
        last.is_some_and(|end| is_joined(self.text, end, sign))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_and_channels_in_one_pass() {
        let names: Labels = ["Ada", "Ada #x", " \n", "a\nb"].into_iter().collect();
        let channels: Labels = ["x", "General"].into_iter().collect();
        let known = Known::from(&names).with_channels(&channels);
        for (text, expected) in [
            ("@ada in #general", vec!["@ada", "#general"]),
            ("@Ada #x #x", vec!["@Ada #x", "#x"]),
            ("@general #ada", vec![]),
            ("@Ada/#x", vec![]),
            ("`@Ada` @Ada", vec!["@Ada"]),
        ] {
            let found = known.occurrences(text, &Contexts::of(text));
            let found: Vec<_> = found.into_iter().map(|span| span.of(text)).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert!(names.contains(" ADA ") && !names.contains("") && !names.contains("a\nb"));
        assert!(known.has_prefix("ada #") && !known.has_prefix("gen"));
    }
}
