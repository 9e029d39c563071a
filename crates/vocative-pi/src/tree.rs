//! The ids of a session's entries and their parents, in a few dozen bytes each.
//!
//! Entries are numbered in file order. A parent comes before its children, so the tree cannot
//! have cycles, and each entry can hold a pointer to a farther ancestor that makes "is this an
//! ancestor of that" a matter of a logarithm of steps: a session of a million markers that all
//! point at its first message is checked as fast as any other.

use std::hash::{BuildHasher, RandomState};

/// Ids longer than this are kept as their SHA-256, so that no id costs more memory.
const LONGEST_KEPT: usize = 40;
const NONE: u32 = u32::MAX;

/// The number of an entry within its file, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIndex(pub(crate) u32);

/// Why an entry could not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The id belongs to this entry.
    Taken(EntryIndex),
    /// There are too many, or their ids are too long in all.
    Full,
}

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Tree {
    /// The ids one after another, each after a byte with its length.
    ids: Vec<u8>,
    /// Where each entry's id stands in `ids`.
    at: Vec<u32>,
    parent: Vec<u32>,
    depth: Vec<u32>,
    /// An ancestor some way up, chosen so that any ancestor is a logarithm of steps away.
    jump: Vec<u32>,
    /// Open addressing from the hash of an id to its entry; a power of two, at most 7/8 full.
    table: Vec<u32>,
    hasher: RandomState,
}

/// What stands for an id: itself, or its digest where it is long. No id begins with 0xff, since
/// that byte is in no UTF-8.
fn kept<'a>(id: &'a [u8], digest: &'a mut [u8; 33]) -> &'a [u8] {
    use sha2::Digest;
    if id.len() <= LONGEST_KEPT {
        return id;
    }
    digest[0] = 0xff;
    digest[1..].copy_from_slice(&sha2::Sha256::digest(id));
    digest
}

impl Tree {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The entries, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = EntryIndex> + use<> {
        (0..self.at.len() as u32).map(EntryIndex)
    }

    fn id_bytes(&self, index: usize) -> &[u8] {
        let at = self.at[index] as usize;
        &self.ids[at + 1..at + 1 + usize::from(self.ids[at])]
    }

    /// The id of an entry, for a person; of a long one only that it is long.
    pub fn id(&self, index: EntryIndex) -> String {
        let bytes = self.id_bytes(index.0 as usize);
        if bytes.first() == Some(&0xff) {
            "(a long id)".to_owned()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    }

    /// The entry with this id.
    pub fn find(&self, id: &[u8]) -> Option<EntryIndex> {
        self.probe(kept(id, &mut [0; 33])).ok().map(EntryIndex)
    }

    /// The entry with these kept bytes, or the free slot where it would go.
    fn probe(&self, id: &[u8]) -> Result<u32, usize> {
        if self.table.is_empty() {
            return Err(0);
        }
        let mask = self.table.len() - 1;
        let mut slot = self.hasher.hash_one(id) as usize & mask;
        loop {
            match self.table[slot] {
                NONE => return Err(slot),
                entry if self.id_bytes(entry as usize) == id => return Ok(entry),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Adds an entry behind all others.
    pub(crate) fn insert(&mut self, id: &[u8], parent: Option<EntryIndex>) -> Result<EntryIndex, Refused> {
        let mut digest = [0; 33];
        let id = kept(id, &mut digest);
        if let Ok(taken) = self.probe(id) {
            return Err(Refused::Taken(EntryIndex(taken)));
        }
        let index = self.at.len() as u32;
        let at = u32::try_from(self.ids.len()).map_err(|_| Refused::Full)?;
        if index == NONE {
            return Err(Refused::Full);
        }
        self.ids.push(id.len() as u8);
        self.ids.extend_from_slice(id);
        self.at.push(at);
        self.link(parent);
        if self.at.len() * 8 > self.table.len() * 7 {
            self.rehash();
        } else if let Err(slot) = self.probe(id) {
            self.table[slot] = index;
        }
        Ok(EntryIndex(index))
    }

    /// Gives the last entry its parent, depth and jump.
    fn link(&mut self, parent: Option<EntryIndex>) {
        let index = self.parent.len() as u32;
        let (parent, depth, jump) = match parent {
            None => (NONE, 0, index),
            Some(EntryIndex(parent)) => {
                let near = self.jump[parent as usize];
                let far = self.jump[near as usize];
                let depth = |entry: u32| self.depth[entry as usize];
                let even = depth(parent) - depth(near) == depth(near) - depth(far);
                (parent, depth(parent) + 1, if even { far } else { parent })
            }
        };
        self.parent.push(parent);
        self.depth.push(depth);
        self.jump.push(jump);
    }

    fn rehash(&mut self) {
        let size = (self.at.len() * 2).next_power_of_two().max(16);
        self.table.clear();
        self.table.resize(size, NONE);
        for index in 0..self.at.len() {
            let slot = self.probe(self.id_bytes(index)).expect_err("ids are distinct");
            self.table[slot] = index as u32;
        }
    }

    /// The parent of an entry.
    pub fn parent(&self, entry: EntryIndex) -> Option<EntryIndex> {
        Some(self.parent[entry.0 as usize]).filter(|parent| *parent != NONE).map(EntryIndex)
    }

    /// Whether `old` is `young` or one of its ancestors.
    pub fn is_ancestor_or_self(&self, old: EntryIndex, young: EntryIndex) -> bool {
        let goal = self.depth[old.0 as usize];
        let mut at = young.0;
        while self.depth[at as usize] > goal {
            let jump = self.jump[at as usize];
            at = if self.depth[jump as usize] >= goal { jump } else { self.parent[at as usize] };
        }
        at == old.0
    }

    /// The bytes from which [`Tree::from_bytes`] makes the same tree.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.ids.len() + self.at.len() * 4 + 8);
        bytes.extend_from_slice(&(self.at.len() as u64).to_le_bytes());
        self.parent.iter().for_each(|parent| bytes.extend_from_slice(&parent.to_le_bytes()));
        bytes.extend_from_slice(&self.ids);
        bytes
    }

    /// The tree that was written, or nothing if the bytes are not of one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let parents = rest.get(..count.checked_mul(4)?)?;
        let mut ids = &rest[parents.len()..];
        let mut tree = Self::default();
        for (index, parent) in parents.chunks_exact(4).enumerate() {
            let parent = u32::from_le_bytes(parent.try_into().ok()?);
            if parent != NONE && parent as usize >= index {
                return None;
            }
            let (length, rest) = ids.split_first()?;
            let id = rest.get(..usize::from(*length))?;
            ids = &rest[id.len()..];
            tree.insert(id, Some(parent).filter(|p| *p != NONE).map(EntryIndex)).ok()?;
        }
        ids.is_empty().then_some(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(parents: &[Option<u32>], old: u32, mut young: u32) -> bool {
        loop {
            if old == young {
                return true;
            }
            match parents[young as usize] {
                Some(parent) => young = parent,
                None => return false,
            }
        }
    }

    proptest::proptest! {
        /// Ancestry by jumps is ancestry by single steps, and survives being written down.
        #[test]
        fn ancestry_agrees_with_walking(picks in proptest::collection::vec(proptest::num::u32::ANY, 1..80)) {
            let mut tree = Tree::default();
            let mut parents = Vec::new();
            for (index, pick) in picks.iter().enumerate() {
                let parent = (index > 0 && pick % 7 != 0).then(|| {
                    // Long chains are the usual shape, so most parents are the entry before.
                    if pick % 3 == 0 { pick / 16 % index as u32 } else { index as u32 - 1 }
                });
                let id = if pick % 11 == 0 { format!("{index}-{}", "x".repeat(90)) } else { format!("e{index}") };
                tree.insert(id.as_bytes(), parent.map(EntryIndex)).unwrap();
                parents.push(parent);
                proptest::prop_assert_eq!(tree.find(id.as_bytes()), Some(EntryIndex(index as u32)));
                proptest::prop_assert_eq!(tree.insert(id.as_bytes(), None), Err(Refused::Taken(EntryIndex(index as u32))));
            }
            let copy = Tree::from_bytes(&tree.to_bytes()).unwrap();
            for old in 0..picks.len() as u32 {
                for young in 0..picks.len() as u32 {
                    let expected = naive(&parents, old, young);
                    proptest::prop_assert_eq!(tree.is_ancestor_or_self(EntryIndex(old), EntryIndex(young)), expected);
                    proptest::prop_assert_eq!(copy.is_ancestor_or_self(EntryIndex(old), EntryIndex(young)), expected);
                }
            }
            proptest::prop_assert_eq!(tree.find(b"nobody"), None);
        }
    }
}
