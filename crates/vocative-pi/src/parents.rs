//! Parents that were not found above their children: missing, forward, or part of a cycle.
//!
//! Which of the three it is can be told only at the end of a file. Each entry is visited once.

use std::collections::{HashMap, HashSet};

use crate::problem::{Code, Fault, Problem};
use crate::tree::{EntryIndex, Tree};

/// An entry whose parent did not stand before it.
#[derive(Debug)]
pub(crate) struct Pending {
    line: u64,
    entry: EntryIndex,
    parent: Box<[u8]>,
}

impl Pending {
    pub(crate) fn new(line: u64, entry: EntryIndex, parent: &[u8]) -> Self {
        Self { line, entry, parent: parent.into() }
    }
}

/// Tells of each such entry what is wrong, in file order.
pub(crate) fn resolve(tree: &Tree, pending: Vec<Pending>) -> impl Iterator<Item = Problem> {
    let forward: HashMap<EntryIndex, EntryIndex> =
        pending.iter().filter_map(|item| Some((item.entry, tree.find(&item.parent)?))).collect();
    let cyclic = on_cycles(tree, &forward);
    pending.into_iter().map(move |item| {
        let shown: String = String::from_utf8_lossy(&item.parent).chars().take(40).collect();
        let (code, detail) = if cyclic.contains(&item.entry) {
            (Code::ParentCycle, format!("the ancestors from parent {shown} on lead back to the entry"))
        } else if forward.contains_key(&item.entry) {
            (Code::ParentForward, format!("parent {shown} stands after the entry"))
        } else {
            (Code::ParentMissing, format!("parent {shown} is not in the file"))
        };
        Fault::new(code, detail).at(item.line, Some(tree.id(item.entry)))
    })
}

/// The entries with a forward parent that are on a cycle. Every cycle has such an entry, since a
/// parent above its child cannot close one.
fn on_cycles(tree: &Tree, forward: &HashMap<EntryIndex, EntryIndex>) -> HashSet<EntryIndex> {
    let mut cyclic = HashSet::new();
    if forward.is_empty() {
        return cyclic;
    }
    let up = |entry: EntryIndex| forward.get(&entry).copied().or_else(|| tree.parent(entry));
    // The walk that came by each entry, counted from 1.
    let mut visited = vec![0u32; tree.len()];
    for (walk, start) in forward.keys().enumerate() {
        let walk = walk as u32 + 1;
        let mut at = Some(*start);
        while let Some(entry) = at {
            let seen = &mut visited[entry.0 as usize];
            if *seen == walk {
                let mut member = entry;
                loop {
                    if forward.contains_key(&member) {
                        cyclic.insert(member);
                    }
                    member = up(member).expect("each entry of a cycle has a parent");
                    if member == entry {
                        break;
                    }
                }
            }
            if *seen != 0 {
                break;
            }
            *seen = walk;
            at = up(entry);
        }
    }
    cyclic
}
