//! A filter and, after an empty line, an event.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| {
    let (filter, event) = input.split_once("\n\n").unwrap_or((input, "{}"));
    vocative_server::fuzzing::filter(filter, event);
});
