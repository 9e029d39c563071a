//! A process that is killed leaves the old artifact or the new one, and the next run succeeds.

#![cfg(unix)]

mod support;

use std::fs;
use std::time::{Instant, SystemTime};

use support::session::*;
use support::{run, vocative};

/// A small generator, so that a failure can be repeated from the seed that is printed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn session(id: &str, mentions: usize) -> String {
    let mut lines = vec![header(id)];
    let mut parent = String::new();
    for number in 0..mentions {
        let (entry, own) = (format!("u{number}"), format!("m{number}"));
        lines.push(user_at(&entry, &parent, number as u32, &"long text ".repeat(20)));
        lines.push(marker(&own, &entry, id, &entry, &["B", "C"]));
        parent = own;
    }
    file(&lines)
}

#[test]
fn at_fifty_random_moments() {
    let seed = std::env::var("VOCATIVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64 | 1
    });
    println!("VOCATIVE_SEED={seed}");
    let mut random = Random(seed);
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join("in");
    fs::create_dir(&sessions).unwrap();
    let out = home.path().join("out.jsonl");
    let reduce = format!("reduce {} -o {}", sessions.display(), out.display());
    for number in 0..8 {
        fs::write(sessions.join(format!("{number}.jsonl")), session(&format!("s{number}"), 60)).unwrap();
    }
    let started = Instant::now();
    assert_eq!(run(home.path(), &reduce).code, 0);
    let mut whole = started.elapsed();
    let mut old = fs::read(&out).unwrap();
    let (mut killed, mut kept, mut replaced) = (0, 0, 0);
    for round in 0..50 {
        // Each round has something new to write, and half of them no cache.
        fs::write(sessions.join(format!("new{round}.jsonl")), session(&format!("n{round}"), 10)).unwrap();
        if random.next().is_multiple_of(2) {
            let _ = fs::remove_file(home.path().join(".vocative-cache.records"));
        }
        let mut child = vocative(home.path())
            .args(reduce.split_whitespace())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let wait = whole.mul_f64(1.5 * (random.next() % 1000) as f64 / 1000.0);
        let started = Instant::now();
        // Waiting is by the clock and not by sleeping, which is coarser than the moments that count.
        while started.elapsed() < wait && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        killed += usize::from(ended.is_none());
        let found = fs::read(&out).unwrap();
        let started = Instant::now();
        let expected = run(home.path(), &format!("reduce {} -o -", sessions.display()));
        assert_eq!(expected.code, 0, "{}", expected.err);
        whole = started.elapsed();
        let new = expected.out.into_bytes();
        assert!(found == old || found == new, "round {round}: neither the old artifact nor the new one");
        kept += usize::from(found == old);
        replaced += usize::from(found == new);
        assert_eq!(run(home.path(), &reduce).code, 0, "round {round}");
        assert_eq!(fs::read(&out).unwrap(), new, "round {round}");
        old = new;
    }
    println!("{killed} killed in time, {kept} kept the old artifact, {replaced} had the new one");
    assert!(killed > 0 && kept > 0, "the moments are wrong: some are before and some after the rename");
    let left: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(left.iter().all(|name| !name.ends_with(".new")), "{left:?}");
}
