//! A message of a client of the relay.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| vocative_server::fuzzing::client_message(input));
