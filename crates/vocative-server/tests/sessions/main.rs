//! Sessions and the inbox over HTTP (sections 4 and 5).

#![allow(unreachable_pub, reason = "the modules of one test program")]

#[path = "../../../vocative-pi/tests/support/mod.rs"]
mod lines;
#[path = "../people/site.rs"]
#[allow(dead_code, reason = "shared with the tests of people")]
mod site;
#[path = "../people/stage.rs"]
#[allow(dead_code, reason = "shared with the tests of people")]
mod stage;
#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod inbox;
mod place;
