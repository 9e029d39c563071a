//! Exactly once: each subscription gets every event that it asked for, once, and no other.

use std::rc::Rc;

/// What subscriptions are owed, and what they got.
#[derive(Default)]
pub(crate) struct Deliveries {
    subscriptions: Vec<Owed>,
    /// Owed and not yet delivered.
    pub open: usize,
    pub delivered: usize,
    pub repeated: usize,
    pub foreign: usize,
}

struct Owed {
    /// Numbers of events, ascending.
    events: Rc<[u32]>,
    /// One bit for each of `events`.
    got: Vec<u64>,
}

impl Deliveries {
    /// Adds a subscription that is owed these events, ascending by number; answers its own number.
    pub(crate) fn subscribe(&mut self, events: Rc<[u32]>) -> usize {
        debug_assert!(events.is_sorted());
        self.open += events.len();
        self.subscriptions.push(Owed { got: vec![0; events.len().div_ceil(64)], events });
        self.subscriptions.len() - 1
    }

    /// A subscription gets an event. Whether this is the delivery that it was owed.
    pub(crate) fn deliver(&mut self, subscription: usize, event: u32) -> bool {
        let Some(owed) = self.subscriptions.get_mut(subscription) else {
            self.foreign += 1;
            return false;
        };
        let Ok(place) = owed.events.binary_search(&event) else {
            self.foreign += 1;
            return false;
        };
        let (word, bit) = (place / 64, 1 << (place % 64));
        if owed.got[word] & bit != 0 {
            self.repeated += 1;
            return false;
        }
        owed.got[word] |= bit;
        self.delivered += 1;
        self.open -= 1;
        true
    }

    /// A subscription gets an event that is none of this run's.
    pub(crate) fn unknown(&mut self) {
        self.foreign += 1;
    }

    /// What is wrong, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let counts = [(self.open, "missing"), (self.repeated, "repeated"), (self.foreign, "foreign")];
        let faults: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!faults.is_empty()).then(|| faults.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_once_is_no_fault_in_whatever_order() {
        let mut deliveries = Deliveries::default();
        let all: Rc<[u32]> = (0..200).collect();
        let (one, two) = (deliveries.subscribe(all.clone()), deliveries.subscribe(all));
        assert!((0..200).rev().all(|event| deliveries.deliver(one, event)));
        assert_eq!(deliveries.fault().as_deref(), Some("200 missing"), "the other has nothing yet");
        assert!((0..200).all(|event| deliveries.deliver(two, event)));
        assert_eq!((deliveries.fault(), deliveries.delivered), (None, 400));
    }

    #[test]
    fn what_is_missing_repeated_or_foreign_is_a_fault_of_its_own() {
        let cases: &[(&[u32], Option<&str>)] = &[
            (&[3, 70, 71], None),
            (&[3, 70], Some("1 missing")),
            (&[3, 70, 71, 70], Some("1 repeated")),
            (&[3, 70, 71, 4], Some("1 foreign")),
            (&[3, 3, 4], Some("2 missing, 1 repeated, 1 foreign")),
        ];
        for (got, fault) in cases {
            let mut deliveries = Deliveries::default();
            let subscription = deliveries.subscribe([3, 70, 71].into());
            for event in *got {
                deliveries.deliver(subscription, *event);
            }
            assert_eq!(deliveries.fault().as_deref(), *fault, "{got:?}");
        }
    }

    #[test]
    fn a_subscription_that_nobody_made_gets_only_foreign_events() {
        let mut deliveries = Deliveries::default();
        assert!(!deliveries.deliver(0, 1));
        deliveries.unknown();
        assert_eq!(deliveries.fault().as_deref(), Some("2 foreign"));
    }
}
