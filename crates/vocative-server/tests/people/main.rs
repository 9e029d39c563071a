//! People (section 3), against a double of GitHub.

#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod device;
mod discovery;
mod http;
mod keys;
mod security;
mod site;
mod stage;
mod tokens;
