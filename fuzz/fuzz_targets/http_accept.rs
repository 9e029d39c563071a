//! The header by which a browser's request is told from a question about the relay.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| vocative_server::fuzzing::http_accept(input));
