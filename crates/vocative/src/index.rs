//! A table of folded labels: which known labels stand at a place of a text.
//!
//! A path-compressed trie over comparison forms (G-7). A lookup walks the text once, visible
//! character by visible character, and leaves as soon as no label goes on that way, so it never
//! reads past the longest label (N-17). A label comes or goes without a rebuild.

use smallvec::SmallVec;

use crate::form::{push_form, visible_end};

/// A set of comparison forms, each with a number that is stable while the form is in it.
#[derive(Clone, Debug)]
pub(crate) struct LabelIndex {
    /// The root is first and never goes.
    nodes: Vec<Node>,
    free: Vec<u32>,
    len: u32,
    free_slots: Vec<u32>,
}

/// The number of a form in its [`LabelIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

#[derive(Clone, Debug, Default)]
struct Node {
    /// The bytes between the parent and this node, the branching byte included.
    edge: SmallVec<[u8; 16]>,
    slot: Option<Slot>,
    /// Sorted by the first byte of the child's edge.
    children: SmallVec<[(u8, u32); 3]>,
}

impl Node {
    #[inline]
    fn child(&self, byte: u8) -> Option<u32> {
        let children = self.children.as_slice();
        if children.len() <= 8 {
            return children.iter().find(|child| child.0 == byte).map(|child| child.1);
        }
        let at = children.binary_search_by_key(&byte, |child| child.0).ok()?;
        Some(children[at].1)
    }
}

const ROOT: u32 = 0;

/// Visible characters longer than this are in no label: forms hold at most nine characters for each
/// of the 512 of a label, and at most four characters of a text compose to one.
const LONGEST_VISIBLE: usize = 512 * 9 * 4;

impl Default for LabelIndex {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], free: Vec::new(), len: 0, free_slots: Vec::new() }
    }
}

impl LabelIndex {
    /// Whether no form is in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot of `form`, made where it is new.
    pub(crate) fn insert(&mut self, form: &str) -> Slot {
        let mut rest = form.as_bytes();
        let mut at = ROOT;
        while let Some(&first) = rest.first() {
            let Some(child) = self.child(at, first) else {
                let leaf = self.new_node(Node { edge: rest.into(), ..Node::default() });
                self.adopt(at, first, leaf);
                at = leaf;
                break;
            };
            let shared = shared_prefix(&self.nodes[child as usize].edge, rest);
            if shared < self.nodes[child as usize].edge.len() {
                self.split(at, child, shared);
                at = self.child(at, first).expect("just split");
            } else {
                at = child;
            }
            rest = &rest[shared..];
        }
        if let Some(slot) = self.nodes[at as usize].slot {
            return slot;
        }
        let slot = Slot(self.free_slots.pop().unwrap_or(self.len));
        self.len += 1;
        self.nodes[at as usize].slot = Some(slot);
        slot
    }

    /// Takes `form` out of the set; its slot may be given to another form later.
    pub(crate) fn remove(&mut self, form: &str) {
        let mut path: SmallVec<[u32; 16]> = SmallVec::new();
        let Some(mut at) = self.find(form, &mut path) else {
            return;
        };
        let Some(slot) = self.nodes[at as usize].slot.take() else {
            return;
        };
        self.free_slots.push(slot.0);
        self.len -= 1;
        // Nodes that hold nothing go, and a node with one child and no form joins that child.
        while at != ROOT && self.nodes[at as usize].slot.is_none() {
            let parent = path.pop().unwrap_or(ROOT);
            let node = &mut self.nodes[at as usize];
            match node.children.as_slice() {
                [] => {
                    let first = node.edge[0];
                    self.nodes[parent as usize].children.retain(|child| child.0 != first);
                    self.release(at);
                }
                &[(_, only)] => {
                    let mut edge = std::mem::take(&mut node.edge);
                    let first = edge[0];
                    edge.extend_from_slice(&self.nodes[only as usize].edge);
                    self.nodes[only as usize].edge = edge;
                    let children = &mut self.nodes[parent as usize].children;
                    children.iter_mut().find(|child| child.0 == first).expect("a child of its parent").1 =
                        only;
                    self.release(at);
                    break;
                }
                _ => break,
            }
            at = parent;
        }
    }

    /// The slot of `form`, where it is in the set.
    pub(crate) fn get(&self, form: &str) -> Option<Slot> {
        self.nodes[self.find(form, &mut SmallVec::new())? as usize].slot
    }

    /// Whether `form` begins the form of some label (S-2).
    pub(crate) fn has_prefix(&self, form: &str) -> bool {
        let mut walk = Walk::new(self);
        !self.is_empty() && form.bytes().all(|byte| walk.step(byte))
    }

    /// Calls `found` for each label whose form begins `text`, shortest first, with the end of the
    /// match in bytes. Ends lie between visible characters only (G-10).
    pub(crate) fn matches(&self, text: &str, mut found: impl FnMut(usize, Slot)) {
        if self.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let mut walk = Walk::new(self);
        let mut folded = String::new();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii() && bytes.get(at + 1).is_none_or(u8::is_ascii) {
                if !walk.step(byte.to_ascii_lowercase()) {
                    return;
                }
                at += 1;
            } else {
                let Some(end) = visible_end(text, at, LONGEST_VISIBLE) else {
                    return;
                };
                folded.clear();
                push_form(&text[at..end], &mut folded);
                if !folded.bytes().all(|byte| walk.step(byte)) {
                    return;
                }
                at = end;
            }
            if let Some(slot) = walk.slot() {
                found(at, slot);
            }
        }
    }

    fn find(&self, form: &str, path: &mut SmallVec<[u32; 16]>) -> Option<u32> {
        let mut rest = form.as_bytes();
        let mut at = ROOT;
        while let Some(&first) = rest.first() {
            path.push(at);
            at = self.child(at, first)?;
            rest = rest.strip_prefix(self.nodes[at as usize].edge.as_slice())?;
        }
        Some(at)
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        self.nodes[node as usize].child(byte)
    }

    fn adopt(&mut self, parent: u32, byte: u8, child: u32) {
        let children = &mut self.nodes[parent as usize].children;
        let at = children.partition_point(|child| child.0 < byte);
        children.insert(at, (byte, child));
    }

    /// Puts a node between `parent` and `child`, `shared` bytes down the child's edge.
    fn split(&mut self, parent: u32, child: u32, shared: usize) {
        let edge = std::mem::take(&mut self.nodes[child as usize].edge);
        let (upper, lower) = edge.split_at(shared);
        self.nodes[child as usize].edge = lower.into();
        let children = smallvec::smallvec![(lower[0], child)];
        let middle = self.new_node(Node { edge: upper.into(), slot: None, children });
        let first = upper[0];
        let siblings = &mut self.nodes[parent as usize].children;
        siblings.iter_mut().find(|sibling| sibling.0 == first).expect("a child of its parent").1 = middle;
    }

    fn new_node(&mut self, node: Node) -> u32 {
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        let at = u32::try_from(self.nodes.len()).expect("fewer than 2^32 labels");
        self.nodes.push(node);
        at
    }

    fn release(&mut self, node: u32) {
        self.nodes[node as usize] = Node::default();
        self.free.push(node);
    }
}

fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A position in the trie: `rest` is what is left of the edge of `node`.
struct Walk<'i> {
    nodes: &'i [Node],
    node: &'i Node,
    rest: &'i [u8],
}

impl<'i> Walk<'i> {
    fn new(index: &'i LabelIndex) -> Self {
        Self { nodes: &index.nodes, node: &index.nodes[ROOT as usize], rest: &[] }
    }

    /// Goes on by one byte, where some label does.
    #[inline]
    fn step(&mut self, byte: u8) -> bool {
        if let [next, rest @ ..] = self.rest {
            self.rest = rest;
            return *next == byte;
        }
        let Some(child) = self.node.child(byte) else {
            return false;
        };
        self.node = &self.nodes[child as usize];
        self.rest = &self.node.edge[1..];
        true
    }

    /// The label that ends here.
    #[inline]
    fn slot(&self) -> Option<Slot> {
        if self.rest.is_empty() { self.node.slot } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::form::form;

    #[test]
    fn ends_lie_between_visible_characters() {
        let mut index = LabelIndex::default();
        let slots = ["ada", "ada king", "stras", "strass", "zoe", "가", "\u{16d68}"]
            .map(|label| index.insert(&form(label)));
        for (text, expected) in [
            ("Ada King!", vec![(3, slots[0]), (8, slots[1])]),
            ("STRAẞ", vec![(7, slots[3])]),
            ("Zoe\u{308}", vec![]),
            ("\u{1100}\u{1161}\u{11a8}", vec![]),
            ("\u{1100}\u{1161}", vec![(6, slots[5])]),
            ("\u{16d67}\u{16d67}", vec![(8, slots[6])]),
            ("", vec![]),
        ] {
            let mut found = Vec::new();
            index.matches(text, |end, slot| found.push((end, slot)));
            assert_eq!(found, expected, "{text}");
        }
        assert!(index.has_prefix("ada k") && index.has_prefix("") && !index.has_prefix("ada x"));
    }

    proptest! {
        /// The index agrees with an ordered map after any sequence of insertions and removals.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((any::<bool>(), "[ab]{0,5}"), 0..60)) {
            let mut index = LabelIndex::default();
            let mut map = BTreeMap::new();
            for (add, label) in steps {
                if add {
                    let slot = index.insert(&label);
                    prop_assert_eq!(*map.entry(label).or_insert(slot), slot);
                } else {
                    index.remove(&label);
                    map.remove(&label);
                }
                for (label, slot) in &map {
                    prop_assert_eq!(index.get(label), Some(*slot));
                }
                let slots: std::collections::BTreeSet<_> = map.values().collect();
                prop_assert_eq!(slots.len(), map.len());
                for probe in ["", "a", "ab", "abab", "bb", "bab"] {
                    prop_assert_eq!(index.get(probe), map.get(probe).copied());
                    let begins = map.keys().any(|label| label.starts_with(probe));
                    prop_assert_eq!(index.has_prefix(probe), begins, "{}", probe);
                }
                let live = index.nodes.len() - index.free.len();
                prop_assert!(live <= 2 * map.len() + 1, "{} nodes for {} labels", live, map.len());
            }
        }
    }
}
