//! Fetching entries of recorded sessions (section 4.4).

use std::fmt::Debug;

use vocative_pi::discover::session_files;
use vocative_pi::{Content, EntryId, Opened, Options, fetch};

#[test]
fn a_session_in_memory_reads_like_its_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pi");
    let mut entries = 0;
    for path in session_files(folder.as_ref()).unwrap() {
        let bytes = std::fs::read(&path).unwrap();
        let file = fetch::open(Content::File(path), Options::default()).unwrap();
        let memory = fetch::open(Content::Memory(bytes.into()), Options::default()).unwrap();
        for entry in file.tree().entries() {
            let Some(id) = EntryId::from_evidence(&file.tree().id(entry)) else { continue };
            entries += 1;
            assert_eq!(seen(&memory, &id), seen(&file, &id), "{id}");
        }
    }
    assert!(entries > 20, "{entries} entries");
}

/// Everything that is shown of an entry.
fn seen(session: &Opened, id: &EntryId) -> impl PartialEq + Debug + use<> {
    let entry = session.find(id).expect("it is there");
    let read = session.read(entry).unwrap();
    let parents = session.parents(entry, None, 3, true).unwrap();
    let children = session.children(entry, None, 3, true).unwrap();
    let evidence = session.evidence(&session.header.id, entry).count();
    (format!("{read:?}"), format!("{parents:?}"), format!("{children:?}"), evidence)
}
