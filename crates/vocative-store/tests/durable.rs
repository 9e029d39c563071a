//! The disk: what is acknowledged was synced, and a disk that is full or read-only does no damage.
//!
//! Linux only, with `strace`; full and read-only disks only as root, which may mount them.

#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use vocative_store::sqlite::Sqlite;
use vocative_store::{Outcome, Reader, Store, StoreError};

mod contract;

use contract::events::{append_stored, event, h, p};

const STORE: &str = "VOCATIVE_TEST_STORE";
const HOW: &str = "VOCATIVE_TEST_SYNC";
const EVENTS: u64 = 40;

const GET: &str = "\n\
    This test needs strace, which shows that a commit is synced before it is acknowledged, and the right\n\
    to trace a process of its own. Get it with\n\
    \x20   apt-get install strace\n";

/// What a trace of system calls says: how often something was acknowledged whose last write to the log
/// was not followed by a sync that ended, and how many were acknowledged.
fn unsynced(trace: &str) -> (usize, usize) {
    let (mut writes, mut synced, mut before) = (0_u64, 0_u64, 0_u64);
    let mut syncing: HashMap<&str, u64> = HashMap::new();
    let (mut bad, mut acknowledged) = (0, 0);
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let is_sync = call.starts_with("fdatasync(") || call.starts_with("fsync(");
        if call.starts_with("pwrite64(") && call.contains("-wal>") {
            writes += 1;
        } else if is_sync && call.contains("-wal>") {
            // It covers what was written before it began.
            if call.ends_with("= 0") {
                synced = synced.max(writes);
            } else {
                syncing.insert(thread, writes);
            }
        } else if call.contains("sync resumed>") && call.ends_with("= 0") {
            synced = synced.max(syncing.remove(thread).unwrap_or(0));
        } else if call.starts_with("write(1<") && call.contains("\"ok ") {
            acknowledged += 1;
            // An event that wrote nothing would prove nothing.
            bad += usize::from(synced < writes || writes == before);
            before = writes;
        }
    }
    (bad, acknowledged)
}

/// The trace of a child that appends event by event.
fn traced(how: &str) -> String {
    let folder = TempDir::new().expect("a folder");
    let trace = folder.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", "trace=fdatasync,fsync,pwrite64,write", "-o"]).arg(&trace);
    strace.arg(std::env::current_exe().expect("a test has a file"));
    strace.args(["--exact", "child", "--nocapture"]).env(HOW, how);
    strace.env(STORE, folder.path().join("store.db")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = strace.output().unwrap_or_else(|error| panic!("strace: {error}.{GET}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}{GET}");
    std::fs::read_to_string(&trace).expect("a trace")
}

#[test]
fn every_acknowledgement_follows_a_sync() {
    assert_eq!(unsynced(&traced("product")), (0, EVENTS as usize));
}

#[test]
fn the_check_of_syncs_finds_a_missing_one() {
    assert_eq!(unsynced(&traced("off")), (EVENTS as usize, EVENTS as usize));
}

/// Runs in the process that is traced; does nothing in an ordinary run.
#[tokio::test]
async fn child() {
    let Ok(path) = std::env::var(STORE) else { return };
    let mut out = std::io::stdout();
    // The same file and the same log, committed by a connection that does not sync.
    let careless = (std::env::var(HOW).as_deref() == Ok("off")).then(|| {
        drop(Sqlite::open(&path).expect("a store"));
        let db = rusqlite::Connection::open(&path).expect("a store");
        db.execute_batch("PRAGMA synchronous = OFF").expect("it may");
        db
    });
    let store = careless.is_none().then(|| Sqlite::open(&path).expect("a store"));
    for n in 0..EVENTS {
        match (&store, &careless) {
            (Some(store), _) => append_stored(store, &event(1, 9, n, &[h("c"), p(2)], "text")).await,
            (None, Some(db)) => {
                db.execute("INSERT INTO settings VALUES (?1, x'00')", [n.to_string()]).expect("it may");
            }
            (None, None) => unreachable!("one of them is open"),
        }
        // One write each, so that each is one line of the trace.
        out.write_all(format!("ok {n}\n").as_bytes()).expect("the parent reads");
        out.flush().expect("the parent reads");
    }
}

/// A small file system in memory; none without the rights to mount one.
struct Disk(TempDir);

impl Disk {
    fn mount(size: &str) -> Option<Self> {
        let folder = TempDir::new().expect("a folder");
        let disk = Self(folder);
        if disk.run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]) {
            return Some(disk);
        }
        // Not through the macro, whose words are kept back while a test passes.
        let skipped = "\nSKIPPED: a full and a read-only disk: run this as root, which may mount them.\n";
        std::io::stderr().write_all(skipped.as_bytes()).expect("standard error is open");
        None
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        let mut command = Command::new(program);
        command.args(args).arg(self.0.path()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

async fn holds(store: &dyn Store, events: &[vocative_store::Event]) {
    for event in events {
        assert_eq!(store.event(&Reader::Server, event.id).await, Ok(Some(event.clone())));
    }
    assert_eq!(store.check().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_full_disk_is_told_and_freed_goes_on() {
    let Some(disk) = Disk::mount("6m") else { return };
    let (path, ballast) = (disk.path().join("store.db"), disk.path().join("ballast"));
    std::fs::write(&ballast, vec![1; 3 << 20]).expect("there is room");
    let store = Sqlite::open(&path).expect("a store");
    let mut acknowledged = Vec::new();
    let text = "text ".repeat(2000);
    let failed = loop {
        let message = event(1, 9, acknowledged.len() as u64, &[h("c"), p(2)], &text);
        match store.append(vec![message.clone().into()]).await {
            Ok(outcomes) => {
                assert!(matches!(outcomes[0], Outcome::Stored(_)));
                acknowledged.push(message);
            }
            Err(error) => break error,
        }
    };
    assert_eq!(failed, StoreError::Full);
    assert!(!acknowledged.is_empty());
    holds(&store, &acknowledged).await;
    std::fs::remove_file(&ballast).expect("it is there");
    let next = event(1, 9, 1 << 20, &[h("c"), p(2)], "after");
    append_stored(&store, &next).await;
    acknowledged.push(next);
    holds(&store, &acknowledged).await;
    drop(store);
    holds(&Sqlite::open(&path).expect("a store"), &acknowledged).await;
}

#[tokio::test]
async fn a_read_only_disk_is_told() {
    let Some(disk) = Disk::mount("8m") else { return };
    let path = disk.path().join("a store?.db");
    let store = Sqlite::open(&path).expect("a store");
    let message = event(1, 9, 1, &[h("c"), p(2)], "text");
    append_stored(&store, &message).await;
    drop(store);
    assert!(disk.run("mount", &["-o", "remount,ro"]));
    assert_eq!(Sqlite::open(&path).err(), Some(StoreError::ReadOnly));
    let reading = Sqlite::snapshot(&path).expect("reads go on");
    holds(&reading, std::slice::from_ref(&message)).await;
    let more = reading.append(vec![event(1, 9, 2, &[], "").into()]).await;
    assert_eq!(more, Err(StoreError::ReadOnly));
    drop(reading);
    assert!(disk.run("mount", &["-o", "remount,rw"]));
    holds(&Sqlite::open(&path).expect("a store"), &[message]).await;
}
