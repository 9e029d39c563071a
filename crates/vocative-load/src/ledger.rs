//! What became of each event: when it was due, when it left, when it was answered and how.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::times::Times;

#[derive(Clone, Copy, Default)]
struct Row {
    due: Duration,
    sent: Option<Duration>,
    answer: Option<(Duration, bool)>,
}

/// The events of one run by their number. Times count from its start.
pub(crate) struct Ledger {
    pub start: Instant,
    rows: Vec<Row>,
    /// Sent and not yet answered.
    pub open: usize,
    refusals: BTreeMap<String, usize>,
    /// Answers to nothing that was open.
    strange: usize,
}

/// What one run came to.
pub(crate) struct Summary {
    /// Events that were due in the window.
    pub due: usize,
    /// Of them, those with `OK true`, with `OK false`, and without an answer.
    pub acknowledged: usize,
    pub refused: usize,
    pub unanswered: usize,
    /// `OK true` that arrived within the window, per second.
    pub rate: f64,
    /// From due to `OK true`. An event without an answer counts with the time it has waited.
    pub latency: Times,
    /// From due to sent: what the generator itself is late by.
    pub lateness: Times,
    /// Refusals of the whole run by prefix.
    pub refusals: BTreeMap<String, usize>,
    /// Answers to nothing that was open, in the whole run.
    pub strange: usize,
}

impl Ledger {
    /// An empty one for so many events.
    pub(crate) fn new(events: usize) -> Self {
        let rows = vec![Row::default(); events];
        Self { start: Instant::now(), rows, open: 0, refusals: BTreeMap::new(), strange: 0 }
    }

    /// The time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// An event leaves now.
    pub(crate) fn sent(&mut self, number: usize, due: Duration) {
        self.rows[number] = Row { due, sent: Some(self.now()), answer: None };
        self.open += 1;
    }

    /// An event is answered now.
    pub(crate) fn answered(&mut self, number: usize, accepted: bool, reason: &str) {
        let now = self.now();
        let row = &mut self.rows[number];
        if row.sent.is_none() || row.answer.is_some() {
            self.strange += 1;
            return;
        }
        row.answer = Some((now, accepted));
        self.open -= 1;
        if !accepted {
            let prefix = reason.split_once(':').map_or(reason, |(prefix, _)| prefix);
            *self.refusals.entry(prefix.to_owned()).or_default() += 1;
        }
    }

    /// An answer to an event that nobody sent.
    pub(crate) fn unknown(&mut self) {
        self.strange += 1;
    }

    /// When an event was due.
    pub(crate) fn due(&self, number: usize) -> Duration {
        self.rows[number].due
    }

    /// What became, by now, of the events that were due in a window.
    pub(crate) fn summary(&self, from: Duration, until: Duration) -> Summary {
        let now = self.now();
        let window = from..until;
        let due = self.rows.iter().filter(|row| row.sent.is_some() && window.contains(&row.due));
        let mut summary = Summary {
            due: 0,
            acknowledged: 0,
            refused: 0,
            unanswered: 0,
            rate: 0.0,
            latency: Times::default(),
            lateness: Times::default(),
            refusals: self.refusals.clone(),
            strange: self.strange,
        };
        for row in due {
            summary.due += 1;
            summary.lateness.push(row.sent.unwrap_or(now).saturating_sub(row.due));
            match row.answer {
                Some((at, true)) => {
                    summary.acknowledged += 1;
                    summary.latency.push(at.saturating_sub(row.due));
                }
                Some((_, false)) => summary.refused += 1,
                None => {
                    summary.unanswered += 1;
                    summary.latency.push(now.saturating_sub(row.due));
                }
            }
        }
        let arrived = self.rows.iter().filter_map(|row| row.answer);
        let arrived = arrived.filter(|(at, accepted)| *accepted && window.contains(at)).count();
        summary.rate = arrived as f64 / (until - from).as_secs_f64();
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Duration = Duration::from_secs(3_600);

    #[test]
    fn each_event_is_counted_once_by_what_became_of_it() {
        let mut ledger = Ledger::new(5);
        for number in 0..4 {
            ledger.sent(number, Duration::ZERO);
        }
        ledger.answered(0, true, "");
        ledger.answered(1, false, "restricted: not a member");
        ledger.answered(2, false, "rate-limited: slow down");
        ledger.answered(0, true, "");
        ledger.answered(4, true, "");
        ledger.unknown();
        let found = ledger.summary(Duration::ZERO, END);
        assert_eq!((found.due, found.acknowledged, found.refused, found.unanswered), (4, 1, 2, 1));
        assert_eq!(found.strange, 3, "answered twice, not sent, unknown");
        assert_eq!(ledger.open, 1);
        let refusals: Vec<_> = found.refusals.into_iter().collect();
        assert_eq!(refusals, [("rate-limited".to_owned(), 1), ("restricted".to_owned(), 1)]);
    }

    #[test]
    fn an_event_waits_from_when_it_was_due_even_if_it_left_late_or_has_no_answer() {
        let mut ledger = Ledger::new(2);
        let late = Duration::from_secs(10);
        ledger.start -= late;
        ledger.sent(0, Duration::ZERO);
        ledger.answered(0, true, "");
        ledger.sent(1, Duration::ZERO);
        let mut found = ledger.summary(Duration::ZERO, END);
        assert!(found.latency.quantile(0.0) >= late && found.lateness.quantile(0.0) >= late);
    }

    #[test]
    fn the_window_leaves_out_what_was_due_before_it() {
        let mut ledger = Ledger::new(2);
        ledger.sent(0, Duration::from_secs(1));
        ledger.sent(1, Duration::from_secs(2));
        assert_eq!(ledger.summary(Duration::from_secs(2), END).due, 1);
        assert_eq!(ledger.summary(Duration::ZERO, Duration::from_secs(2)).due, 1);
    }
}
