//! The people and agents a channel knows by name: members, and outsiders who only block (E-4).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::form::form;
use crate::id::Id;
use crate::index::{LabelIndex, Slot};
use crate::label::{LabelError, matchable, qualified};

/// One name of one identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The name, as people see it.
    pub name: String,
    /// Who bears it.
    pub id: Id,
    /// Whether the name reaches anybody.
    pub standing: Standing,
}

/// Whether an identity belongs to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A member: a typed name reaches it.
    Member,
    /// No member of this channel, but known: the name owns its text and yields nothing (E-4).
    Outsider,
}

/// A row of a [`Roster`]; stable while the row is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u32);

/// Labels and identities of one channel, updatable in place.
///
/// Adding, removing or renaming a row costs microseconds whatever the size: the table of labels is
/// never rebuilt.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    index: LabelIndex,
    /// The rows of each label, by the slot of its form.
    bearers: Vec<SmallVec<[RowId; 1]>>,
    by_id: HashMap<Id, SmallVec<[RowId; 1]>>,
    /// Counts rows ever added: roster order is the order of adding.
    added: u64,
}

#[derive(Clone, Debug)]
struct Row {
    member: Member,
    order: u64,
    /// A name of the shape `BASE (KEY)` may borrow another's key.
    is_qualified: bool,
}

impl Roster {
    /// An empty roster.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row at the end of roster order.
    ///
    /// # Errors
    /// [`LabelError::TooLong`] for a name that could never match (G-9); nothing is added.
    pub fn add(&mut self, member: Member) -> Result<RowId, LabelError> {
        let form = matchable(&member.name)?.map(form);
        let id = member.id.clone();
        let row = Row { is_qualified: is_qualified(&member.name), member, order: self.added };
        self.added += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.rows[at as usize] = Some(row);
                RowId(at)
            }
            None => {
                self.rows.push(Some(row));
                RowId(u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 rows"))
            }
        };
        self.by_id.entry(id).or_default().push(at);
        self.name(at, form.as_deref());
        Ok(at)
    }

    /// Takes a row out.
    pub fn remove(&mut self, at: RowId) -> Option<Member> {
        let row = self.rows.get_mut(at.0 as usize)?.take()?;
        self.free.push(at.0);
        self.unname(at, &row.member.name);
        if let Some(rows) = self.by_id.get_mut(&row.member.id) {
            rows.retain(|row| *row != at);
            if rows.is_empty() {
                self.by_id.remove(&row.member.id);
            }
        }
        Some(row.member)
    }

    /// Gives a row another name; it keeps its place in roster order.
    ///
    /// # Errors
    /// [`LabelError::TooLong`]; the row keeps its name.
    pub fn rename(&mut self, at: RowId, name: &str) -> Result<(), LabelError> {
        let form = matchable(name)?.map(form);
        let Some(row) = self.rows.get_mut(at.0 as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        row.is_qualified = is_qualified(name);
        let old = std::mem::replace(&mut row.member.name, name.to_owned());
        self.unname(at, &old);
        self.name(at, form.as_deref());
        Ok(())
    }

    /// Makes a row a member or an outsider.
    pub fn set_standing(&mut self, at: RowId, standing: Standing) {
        if let Some(row) = self.rows.get_mut(at.0 as usize).and_then(Option::as_mut) {
            row.member.standing = standing;
        }
    }

    /// The row `at`.
    pub fn get(&self, at: RowId) -> Option<&Member> {
        Some(&self.rows.get(at.0 as usize)?.as_ref()?.member)
    }

    /// The rows of an identity, in the order of adding.
    pub fn rows_of(&self, id: &Id) -> &[RowId] {
        self.by_id.get(id).map_or(&[], SmallVec::as_slice)
    }

    /// Whether some row is of this identity, member or not.
    pub fn knows(&self, id: &Id) -> bool {
        self.by_id.contains_key(id)
    }

    /// Whether this identity has a row as member.
    pub fn has_member(&self, id: &Id) -> bool {
        let mut rows = self.rows_of(id).iter().filter_map(|row| self.get(*row));
        rows.any(|member| member.standing == Standing::Member)
    }

    /// Those who bear a label equal to `name` (G-7).
    pub fn bearers(&self, name: &str) -> impl Iterator<Item = &Member> {
        let form = matchable(name).ok().flatten().map(form);
        let slot = form.and_then(|form| self.index.get(&form));
        slot.into_iter().flat_map(|slot| self.rows_at(slot)).map(|row| row.member)
    }

    /// All rows, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.rows.iter().flatten().map(|row| &row.member)
    }

    pub(crate) fn index(&self) -> &LabelIndex {
        &self.index
    }

    pub(crate) fn rows_at(&self, slot: Slot) -> impl Iterator<Item = Bearer<'_>> {
        let rows = self.bearers.get(slot.0 as usize).map_or(&[][..], SmallVec::as_slice);
        rows.iter().filter_map(|row| self.rows[row.0 as usize].as_ref()).map(|row| Bearer {
            member: &row.member,
            order: row.order,
            is_qualified: row.is_qualified,
        })
    }

    fn name(&mut self, at: RowId, form: Option<&str>) {
        let Some(form) = form else { return };
        let slot = self.index.insert(form).0 as usize;
        if self.bearers.len() <= slot {
            self.bearers.resize_with(slot + 1, SmallVec::new);
        }
        self.bearers[slot].push(at);
    }

    fn unname(&mut self, at: RowId, name: &str) {
        let Some(form) = matchable(name).ok().flatten().map(form) else {
            return;
        };
        let Some(slot) = self.index.get(&form) else {
            return;
        };
        let bearers = &mut self.bearers[slot.0 as usize];
        bearers.retain(|row| *row != at);
        if bearers.is_empty() {
            self.index.remove(&form);
        }
    }
}

/// A row as a winner of an occurrence.
pub(crate) struct Bearer<'r> {
    pub(crate) member: &'r Member,
    pub(crate) order: u64,
    pub(crate) is_qualified: bool,
}

fn is_qualified(name: &str) -> bool {
    qualified(crate::label::trim(name)).is_some()
}

impl FromIterator<Member> for Roster {
    /// A roster of these, in this order; names that are too long are left out.
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        let mut roster = Self::new();
        for member in members {
            let _ = roster.add(member);
        }
        roster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, byte: u8) -> Member {
        let id = Id::Nostr(crate::Key::from_bytes([byte; 32]));
        Member { name: name.into(), id, standing: Standing::Member }
    }

    #[test]
    fn rows_come_and_go() {
        let mut roster = Roster::new();
        let ada = roster.add(member("Ada", 1)).unwrap();
        let other = roster.add(member("ADA", 2)).unwrap();
        assert_eq!(roster.bearers("ada").count(), 2);
        roster.rename(ada, "Grace").unwrap();
        assert_eq!(roster.bearers("Ada").next().map(|m| m.name.as_str()), Some("ADA"));
        assert_eq!(roster.remove(other).map(|m| m.name), Some("ADA".into()));
        assert_eq!(roster.bearers("ada").count(), 0);
        assert!(!roster.knows(&member("", 2).id) && roster.has_member(&member("", 1).id));
        assert_eq!(roster.add(member(&"x".repeat(513), 3)), Err(LabelError::TooLong));
        assert_eq!(roster.rename(ada, &"x".repeat(513)), Err(LabelError::TooLong));
        assert_eq!(roster.bearers("grace").count(), 1);
        assert_eq!(roster.len(), 1);
    }
}
