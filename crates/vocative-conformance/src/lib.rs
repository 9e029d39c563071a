//! Runs conformance cases against the engine, natively and as WebAssembly.
//!
//! Cases are JSON; the format and the operations are described beside them in `conformance/`.
//! This crate translates: it holds no rule of its own.

mod ops;
mod report;

pub use ops::run;
pub use report::{Case, CaseFile, Outcome, Report, parse, run_case};
