//! When the events of an open loop are due: a matter of the rate alone.
//!
//! A relay that answers late does not move what is due after it, so the time that events wait for it is
//! measured, and not left out (coordinated omission).

use std::time::Duration;

/// Evenly spaced moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Events per second.
    pub rate: u32,
}

impl Schedule {
    /// When event `number` is due, counted from the start.
    pub(crate) fn due(self, number: usize) -> Duration {
        Duration::from_nanos(number as u64 * 1_000_000_000 / u64::from(self.rate))
    }

    /// How many events are due before the end of `span`.
    pub(crate) fn within(self, span: Duration) -> usize {
        let nanos = span.as_nanos() * u128::from(self.rate);
        usize::try_from(nanos.div_ceil(1_000_000_000)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_even_and_add_up_to_the_rate() {
        for rate in [1, 3, 7, 999, 5_000, 48_000] {
            let schedule = Schedule { rate };
            for seconds in [1, 2, 60] {
                let span = Duration::from_secs(seconds);
                let count = schedule.within(span);
                assert_eq!(count as u64, u64::from(rate) * seconds, "{rate}/s for {seconds} s");
                assert!(schedule.due(count - 1) < span && schedule.due(count) >= span, "{rate}/s");
            }
            let exact = 1e9 / f64::from(rate);
            for number in 0..1_000 {
                let apart = schedule.due(number + 1) - schedule.due(number);
                assert!((apart.as_nanos() as f64 - exact).abs() <= 1.0, "{rate}/s at {number}: {apart:?}");
            }
        }
    }

    #[test]
    fn a_span_that_ends_between_two_moments_holds_the_first() {
        let schedule = Schedule { rate: 10 };
        assert_eq!(schedule.within(Duration::ZERO), 0);
        assert_eq!(schedule.within(Duration::from_millis(100)), 1);
        assert_eq!(schedule.within(Duration::from_millis(101)), 2);
    }
}
