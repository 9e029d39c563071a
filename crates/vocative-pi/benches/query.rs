//! A query over 1,000,000 references: on an open index, and what stands before it.

use std::sync::Arc;
use std::time::Instant;

use vocative_pi::index::{self, Fingerprint, OpenIndex};
use vocative_pi::query::{Index, Query};
use vocative_pi::{EntryId, Origin, Reduction, Reference, ReferenceKey, SessionId, Timestamp};

const REFERENCES: u64 = 1_000_000;
const PEOPLE: u64 = 500;

/// The resident memory of this process in MiB, where it can be told.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0) / 1024
}

fn main() {
    let before = resident();
    let started = Instant::now();
    let mut reduction = Reduction::default();
    for number in 0..REFERENCES {
        let session = format!("01a22d99-4350-72cb-8a87-{:012x}", number / 40);
        let session = SessionId::from_evidence(&session).expect("an id");
        let entry = EntryId::from_evidence(&format!("{number:08x}")).expect("an id");
        reduction
            .add_marker(session.clone(), EntryId::from_evidence(&format!("m{number:07x}")).expect("an id"));
        let person = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % PEOPLE;
        let recipient = Arc::new(format!("user{person}").parse().expect("a login"));
        let actor = Arc::new("gszep".parse().expect("a login"));
        let at = Timestamp::from_millis(1_795_996_800_000 + number as i64 * 977).expect("a time");
        let origin = Origin { file: 0, line: 3 };
        reduction.add(ReferenceKey { session, entry, recipient }, Reference { actor, at, origin });
    }
    let memory = (resident() - before) * 1024 * 1024 / REFERENCES;
    println!("set of {} references: {:?}, {memory} bytes each", reduction.len(), started.elapsed());

    let started = Instant::now();
    let index = Index::of(&reduction);
    println!("index built: {:?}", started.elapsed());

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("index");
    let state = Fingerprint::of_all(&[], 0);
    let started = Instant::now();
    index::write(&path, &state, &index).expect("the index can be written");
    let size = path.metadata().expect("it is there").len() / REFERENCES;
    println!("index written: {:?}, {size} bytes each", started.elapsed());
    let started = Instant::now();
    let on_disk = OpenIndex::open(&path, &state).expect("it is fresh");
    println!("index opened: {:?}", started.elapsed());

    let since = Timestamp::from_millis(1_795_996_800_000 + 400_000_000);
    let until = Timestamp::from_millis(1_795_996_800_000 + 600_000_000);
    for (what, since, until, limit) in [
        ("all of one person", None, None, None),
        ("a fifth of the time", since, until, None),
        ("the newest 20", None, None, Some(20)),
    ] {
        let query = Query { recipient: "user5".parse().expect("a login"), actor: None, since, until, limit };
        let started = Instant::now();
        let found = index.run(&query);
        let time = started.elapsed();
        let started = Instant::now();
        let read = on_disk.run(&query).expect("it is whole");
        let disk = started.elapsed();
        assert!(read.iter().map(|(key, reference)| (key, reference)).eq(found.iter().copied()));
        let naive = Instant::now();
        assert_eq!(query.run(&reduction), found);
        let naive = naive.elapsed();
        let count = found.len();
        println!("query, {what}: {count} found in {disk:?} on disk, {time:?} in memory, {naive:?} without");
    }
}
