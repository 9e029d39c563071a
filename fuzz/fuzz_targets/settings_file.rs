//! A file of settings.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| vocative_server::fuzzing::settings_file(input));
