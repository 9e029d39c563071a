//! Times several ways of doing one thing side by side.
//!
//! The ways take turns, so that a machine whose speed drifts slows them all; the ratio is that of
//! the medians of one run.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One way, and how it is called in the record.
pub struct Way<'w> {
    pub name: &'w str,
    pub run: Box<dyn FnMut() -> usize + 'w>,
}

/// Wraps a closure as a [`Way`]. It returns what it found, so that ways can be held against each other.
pub fn way<'w>(name: &'w str, run: impl FnMut() -> usize + 'w) -> Way<'w> {
    Way { name, run: Box::new(run) }
}

const ROUNDS: usize = 41;
const ROUND: Duration = Duration::from_millis(4);

/// Runs the ways in turn and prints a row for each: the median time of a call, the spread, the rate
/// over `bytes` where there are any, and the ratio to the first way.
pub fn compare(title: &str, bytes: usize, ways: &mut [Way<'_>]) {
    println!("\n### {title}\n");
    println!("| way | median | min–max | MB/s | against the first | found |");
    println!("|---|---|---|---|---|---|");
    let calls: Vec<u32> = ways.iter_mut().map(calibrate).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for ((way, calls), times) in ways.iter_mut().zip(&calls).zip(&mut times) {
            let begin = Instant::now();
            for _ in 0..*calls {
                black_box((way.run)());
            }
            times.push(begin.elapsed().as_secs_f64() / f64::from(*calls));
        }
    }
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        })
        .collect();
    for ((way, times), median) in ways.iter_mut().zip(&times).zip(&medians) {
        let rate = if bytes == 0 { "".into() } else { format!("{:.0}", bytes as f64 / median / 1e6) };
        println!(
            "| {} | {} | {}–{} | {rate} | {:.2} | {} |",
            way.name,
            written(*median),
            written(times[0]),
            written(times[ROUNDS - 1]),
            median / medians[0],
            (way.run)(),
        );
    }
}

/// How many calls fill a round.
fn calibrate(way: &mut Way<'_>) -> u32 {
    let begin = Instant::now();
    let mut calls = 0_u32;
    while begin.elapsed() < ROUND {
        black_box((way.run)());
        calls += 1;
    }
    calls.max(1)
}

fn written(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// A small generator of numbers, the same on every machine.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// One of these.
    pub fn pick<'p, T: AsRef<str>>(&mut self, from: &'p [T]) -> &'p str {
        from[self.below(from.len())].as_ref()
    }
}
