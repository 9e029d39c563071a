//! One line of a session file, whatever its bytes are.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vocative_pi::{Scratch, check_line};

fuzz_target!(|line: &[u8]| {
    let mut scratch = Scratch::default();
    let first = check_line(line, &mut scratch);
    // What an earlier line left in the scratch space must not matter.
    assert_eq!(format!("{first:?}"), format!("{:?}", check_line(line, &mut scratch)));
});
