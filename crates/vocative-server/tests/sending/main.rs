//! Exact sends over HTTP (section 2): what is composed, what is published, and what is refused.

#![allow(unreachable_pub, reason = "the modules of one test program")]

#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod cases;
mod edits;
mod people;
mod stage;
mod threads;
