//! Any bytes, read as the output of test runners.
//!
//! Nothing may panic, the cut into reads may not change the report, and the names are those counted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_loop::test_report::{Reader, compare, junit, read};

fuzz_target!(|input: &[u8]| {
    let Some((&step, output)) = input.split_first() else { return };
    let whole = read(output);
    let mut reader = Reader::default();
    for piece in output.chunks(usize::from(step) + 1) {
        reader.feed(piece);
    }
    assert_eq!(reader.finish(), whole);
    let _ = junit(&String::from_utf8_lossy(output));
    let Some(report) = whole else { return };
    for suite in report.runners.values() {
        assert_eq!(suite.tests.len() as u64, suite.named.all());
        assert!(suite.named.all() <= suite.totals.all());
    }
    assert!(compare(&report, &report).is_empty());
});
