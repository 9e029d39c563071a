//! vocative-conformance.
