//! Whole nodes: the real command `vocative serve`, its databases and its bus, and whatever fails among them.

#![cfg(unix)]
#![allow(unreachable_pub, reason = "the modules of one test program")]

#[path = "../../../vocative-server/tests/nats/mod.rs"]
mod nats;
#[path = "../../../vocative-store/tests/server/mod.rs"]
mod postgres;
#[path = "../../../vocative-server/tests/proxy/mod.rs"]
mod proxy;
#[path = "../../../vocative-store/tests/contract/random.rs"]
mod random;
#[path = "../../../vocative-server/tests/support/mod.rs"]
mod support;

mod cluster;
mod community;
mod load;
mod node;

mod bus_away;
mod crowd;
mod database_away;
mod killed;
mod membership;
mod readers;
mod rebuild;
mod sending;
mod stopped;
mod together;
