//! vocative-pi.
