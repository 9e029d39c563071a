//! Many measured times, kept one by one: percentiles are exact.

use std::time::Duration;

/// Times, in whole microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    micros: Vec<u32>,
    is_sorted: bool,
}

impl Times {
    /// Adds one.
    pub(crate) fn push(&mut self, time: Duration) {
        self.micros.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
        self.is_sorted = false;
    }

    /// The smallest time that at least this share of them does not exceed; zero if there are none.
    pub(crate) fn quantile(&mut self, share: f64) -> Duration {
        if !self.is_sorted {
            self.micros.sort_unstable();
            self.is_sorted = true;
        }
        let rank = (share * self.micros.len() as f64).ceil() as usize;
        let found = self.micros.get(rank.saturating_sub(1)).copied().unwrap_or(0);
        Duration::from_micros(found.into())
    }

    /// Median, 99th percentile and maximum in milliseconds, as a cell of a table.
    pub(crate) fn cell(&mut self) -> String {
        if self.micros.is_empty() {
            return "–".into();
        }
        let shown = [0.5, 0.99, 1.0].map(|share| written(self.quantile(share)));
        shown.join(" / ")
    }
}

/// Milliseconds with as many digits as say something.
fn written(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 10.0 { format!("{millis:.2}") } else { format!("{millis:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), Duration::ZERO);
        for micros in (1..=1_000).rev() {
            times.push(Duration::from_micros(micros));
        }
        for (share, micros) in [(0.0, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1_000)] {
            assert_eq!(times.quantile(share), Duration::from_micros(micros), "{share}");
        }
    }
}
