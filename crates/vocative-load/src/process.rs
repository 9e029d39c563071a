//! What processes have used, from `/proc`.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

/// Clock ticks per second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// Processor time used by this process, and by all that it has started.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    at: Instant,
    own: Duration,
    nodes: Duration,
    database: Duration,
}

/// Shares of one core, in percent.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shares {
    pub generator: f64,
    /// The relay without its database.
    pub nodes: f64,
    /// A database that is a program of its own.
    pub database: f64,
}

impl Shares {
    /// All that the relay consists of.
    pub(crate) fn relay(self) -> f64 {
        self.nodes + self.database
    }
}

impl Used {
    /// Up to now.
    pub(crate) fn now() -> Self {
        let own = std::process::id();
        let started = descendants(own).into_iter().filter_map(stat);
        let (databases, nodes): (Vec<Stat>, Vec<Stat>) = started.partition(|stat| stat.name == "postgres");
        let sum = |of: Vec<Stat>| of.into_iter().map(|stat| stat.used).sum();
        let used = stat(own).map_or(Duration::ZERO, |stat| stat.used);
        Self { at: Instant::now(), own: used, nodes: sum(nodes), database: sum(databases) }
    }

    /// The shares since then.
    pub(crate) fn shares(self) -> Shares {
        let now = Self::now();
        let percent = |used: Duration| used.as_secs_f64() / (now.at - self.at).as_secs_f64() * 100.0;
        Shares {
            generator: percent(now.own.saturating_sub(self.own)),
            nodes: percent(now.nodes.saturating_sub(self.nodes)),
            database: percent(now.database.saturating_sub(self.database)),
        }
    }
}

/// The processes that a process has started, directly or not, and that run.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|process| Some((process, stat(process)?.parent)))
        .collect();
    let mut family = HashSet::from([ancestor]);
    loop {
        let before = family.len();
        let children = all.iter().filter(|(_, parent)| family.contains(parent)).map(|(process, _)| *process);
        let children: Vec<u32> = children.collect();
        family.extend(children);
        if family.len() == before {
            family.remove(&ancestor);
            return family.into_iter().collect();
        }
    }
}

/// Resident memory of a process, in MiB.
pub(crate) fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

struct Stat {
    name: String,
    parent: u32,
    used: Duration,
}

fn stat(process: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in brackets and may hold anything; the state follows, and then the parent.
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    let used = Duration::from_secs_f64((ticks(11)? + ticks(12)?) / TICKS);
    Some(Stat { name, parent: fields.get(1)?.parse().ok()?, used })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_a_descendant_and_has_memory() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat runs");
        let found = descendants(std::process::id());
        let memory = resident(child.id());
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(found.contains(&child.id()), "{found:?}");
        assert!(memory.is_some_and(|mebibytes| mebibytes > 0.0), "{memory:?}");
    }
}
