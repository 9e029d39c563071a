//! Random numbers that can be had again: the seed is printed, `VOCATIVE_SEED` sets it.

#![allow(dead_code, reason = "shared by test programs that use parts of it")]

pub struct Random(u64);

impl Random {
    /// Seeded by the environment, else by the clock.
    pub fn seeded() -> Self {
        let given = std::env::var("VOCATIVE_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = given.unwrap_or_else(|| clock().map_or(1, |since| since.as_nanos() as u64));
        println!("VOCATIVE_SEED={seed}");
        Self(seed)
    }

    /// The next number of splitmix64.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// How often a random test runs: `VOCATIVE_RUNS`, else `usual`.
pub fn runs(usual: usize) -> usize {
    std::env::var("VOCATIVE_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(usual)
}
