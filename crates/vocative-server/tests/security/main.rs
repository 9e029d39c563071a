//! What a hostile client tries, one test for each attack (section 1).

#[path = "../support/mod.rs"]
mod support;

mod authority;
mod flood;
mod frames;
mod http;
mod logs;
mod privacy;
mod proofs;
mod size;
