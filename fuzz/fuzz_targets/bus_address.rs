//! The address of a bus.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| vocative_server::fuzzing::bus_address(input));
