//! One line of a session file, whatever its bytes are.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let _ = vocative_pi::check_line(line);
});
