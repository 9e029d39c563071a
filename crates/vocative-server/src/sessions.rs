//! References of sessions and sessions that are shared (section 4).

pub(crate) mod objects;
pub(crate) mod references;
pub(crate) mod shared;
