//! Evidence as a check finds it: a valid marker and its place (section 4.1).

use crate::ids::EntryId;
use crate::marker::Marker;
use crate::time::Timestamp;
use crate::tree::EntryIndex;

/// One valid marker: who was named where, and where the marker itself stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The line of the marker, counted from 1.
    pub line: u64,
    /// Where that line begins in the file, in bytes.
    pub offset: u64,
    /// The id of the marker's own entry.
    pub id: EntryId,
    /// The number of the marker's entry.
    pub index: EntryIndex,
    /// The number of the message's entry.
    pub target: EntryIndex,
    /// The time of the message.
    pub at: Timestamp,
    /// Actor, recipients and target.
    pub marker: Marker,
}
