//! Every recorded case that has an operation.

use std::path::Path;

use vocative_conformance::{Report, parse};

#[test]
fn all_cases_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 25, "only {} case files", files.len());
    let mut report = Report::default();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        report.add(&parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
    assert_eq!(report.failed, 0, "{}\n{}", report.summary(), report.lines);
    assert!(report.passed >= 380, "{}", report.summary());
}
