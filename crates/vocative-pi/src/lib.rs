//! Mention evidence in Pi session files: reading, strict checking, finding.
//!
//! The crate is pure but for reading the files it is given: it never prints, never exits, never
//! reads the environment or the clock, and knows nothing of models or networks. What a section or
//! rule number in these pages refers to is the project's description of Pi sessions.

pub mod artifact;
mod cache;
pub mod check;
pub mod discover;
pub mod evidence;
pub mod fetch;
pub mod findings;
pub mod ids;
pub mod index;
pub mod input;
mod json;
pub mod line;
pub mod lines;
pub mod marker;
mod parents;
pub mod prefilter;
pub mod problem;
pub mod query;
pub mod reader;
pub mod reduction;
pub mod store;
pub mod time;
pub mod tree;

pub use check::check;
pub use evidence::Evidence;
pub use fetch::{Branch, Content, FetchedEntry, Library, NotFound, Opened, Page, Source};
pub use findings::{Checked, Findings, Options, Sink};
pub use ids::{EntryId, SessionId};
pub use input::{Input, Inputs};
pub use json::Scratch;
pub use line::{LineKind, MARKER_TYPE, REDUCTION_TYPE, check_line};
pub use marker::{Marker, Person};
pub use problem::{Code, Fault, Problem};
pub use reader::{Keeper, Part, Purpose, ReadFile, Reader};
pub use reduction::{Conflict, Origin, Reduction, Reference, ReferenceKey};
pub use time::Timestamp;
