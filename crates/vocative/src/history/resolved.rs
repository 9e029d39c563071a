//! Names whose meaning is known already, read against a text (H-5, H-9).

use std::collections::HashSet;

use super::History;
use crate::draft::{Claim, Draft};
use crate::id::{Id, Key};
use crate::reading::{Place, Scope};
use crate::roster::Roster;
use crate::wire::once;

/// Names whose meaning was resolved before: bindings, and the unbound ones that only compete (H-5).
#[derive(Clone, Debug, Default)]
pub struct ResolvedNames(Draft);

impl ResolvedNames {
    /// Names and bindings. Equal names with different keys stand for none (H-9).
    pub fn new<'n>(
        bindings: impl IntoIterator<Item = (&'n str, Key)>,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut draft = Draft::new();
        for (label, key) in bindings {
            draft.push(label, Claim::Selected(Id::Nostr(key)));
        }
        for name in names {
            draft.push(name, Claim::Competing);
        }
        Self(draft)
    }

    /// The keys that a text names, by first place (H-9): an occurrence counts where its label stands
    /// for one key.
    pub fn order_by_text(&self, text: &str) -> Vec<Key> {
        once(self.named(text).into_iter().map(|(key, _)| key))
    }

    /// The keys a text names outside quotes.
    pub(crate) fn in_prose(&self, text: &str) -> HashSet<Key> {
        let named = self.named(text).into_iter();
        named.filter(|(_, place)| *place == Place::Prose).map(|(key, _)| key).collect()
    }

    fn named(&self, text: &str) -> Vec<(Key, Place)> {
        let roster = Roster::new();
        let reading = Scope::new(&roster, &self.0).read(text);
        let named = reading.occurrences().iter();
        let named = named.filter_map(|occurrence| match occurrence.owners.keys.as_slice() {
            [only] => Some((only.key()?, occurrence.place)),
            _ => None,
        });
        named.collect()
    }
}

impl From<&History> for ResolvedNames {
    /// Everything that competed, not only `names`: a label that owns nothing may still guard a range
    /// (G-16), and the body must be read again as it was read.
    fn from(history: &History) -> Self {
        let labels = &history.labels;
        let bindings = labels.iter();
        let bindings = bindings.filter_map(|label| Some((label.spelling.as_str(), label.bound?)));
        Self::new(bindings, labels.iter().map(|label| label.spelling.as_str()))
    }
}
