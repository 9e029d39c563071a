use super::*;

fn keys(bytes: &[u8]) -> Vec<Key> {
    bytes.iter().map(|&byte| Key::from_bytes([byte; 32])).collect()
}

fn tag(parts: &[&str]) -> Tag {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// The tags, each as its name and the first two digits of its key.
fn names(tags: &[Tag]) -> String {
    let short = tags.iter().map(|tag| match tag.as_slice() {
        [name] => name.clone(),
        [name, key] => format!("{name} {}", &key[..2.min(key.len())]),
        [name, key, .., last] => format!("{name} {} {last}", &key[..2.min(key.len())]),
        [] => String::new(),
    });
    short.collect::<Vec<_>>().join(", ")
}

#[test]
fn shapes_of_a_reference() {
    let key = "A1".repeat(32);
    let lower = key.to_lowercase();
    for (given, accepted) in [
        (tag(&["mention", &key]), Some(tag(&["mention", &lower]))),
        (tag(&["mention", &key, "agent-address"]), Some(tag(&["mention", &lower, "agent-address"]))),
        (tag(&["mention", &key, "Agent-Address"]), None),
        (tag(&["mention", &key, "agent-address", ""]), None),
        (tag(&["mention", &key, ""]), None),
        (tag(&["mention", &key[1..]]), None),
        (tag(&["mention", &format!(" {}", &key[1..])]), None),
        (tag(&["mention"]), None),
        (tag(&["Mention", &key]), None),
        (tag(&[]), None),
    ] {
        let read = Reference::of(&given).map(Reference::to_tag);
        assert_eq!(read, accepted, "{given:?}");
    }
}

#[test]
fn tags_of_an_event() {
    use Publication::{Edit, Message};
    let (a, b) = (&keys(&[0xa1])[..], &keys(&[0xb0, 0xb0])[..]);
    for (publication, notify, references, addressed, expected) in [
        (Message, a, Some(b), a, "p a1, mention b0, mention a1 agent-address"),
        (Message, a, Some(b), b, "p a1, mention b0"),
        (Message, b, Some(a), &keys(&[0xb0, 0xb0])[..], "p b0, mention a1, mention b0 agent-address"),
        (Message, a, None, &[], "p a1"),
        // wire-001, wire-003: the marker says that there is a list.
        (Edit, a, Some(&[][..]), &[], "p a1, buzz:mention-snapshot"),
        (Edit, &[], Some(a), &[], "mention a1, buzz:mention-snapshot"),
        (Edit, &[], None, &[], ""),
        (Edit, a, None, &[], "p a1"),
    ] {
        let tags = MentionTags::new(publication, notify, references, addressed).unwrap();
        assert_eq!(names(&tags.into_tags()), expected);
    }
}

#[test]
fn the_order_of_all_tags() {
    let key = keys(&[0xa1]);
    let tags = MentionTags::new(Publication::Edit, &key, Some(&key), &[]).unwrap();
    let before = vec![tag(&["h", "c"]), tag(&["e", "x"])];
    let media = vec![tag(&["imeta", "u"]), tag(&["emoji", "x", "u"])];
    let all = names(&tags.arrange(before, media));
    assert_eq!(all, "h c, e x, p a1, imeta u, emoji x u, mention a1, buzz:mention-snapshot");
}

#[test]
fn limits_are_errors_with_codes() {
    let new = |notify: &[Key], references: &[Key]| {
        MentionTags::new(Publication::Message, notify, Some(references), &[])
            .map_err(|error| error.code())
            .map(|tags| tags.into_tags().len())
    };
    assert_eq!(new(&keys(&[1; 50]), &keys(&[2; 200])), Ok(2));
    assert_eq!(new(&keys(&[1; 51]), &[]), Err("too_many_recipients"));
    assert_eq!(new(&[], &keys(&[2; 201])), Err("too_many_references"));
    let error = parse_keys(&["a1".repeat(32), "junk".into()]).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("bad_key", "`junk` is no key: a key is 64 hex digits")
    );
}

#[test]
fn a_hint_is_read_as_it_is_written() {
    let key = keys(&[0xa1])[0];
    let hint = RangeHint { start: 0, end: 12, key };
    assert_eq!(RangeHint::of(&hint.to_tag()), Some(hint));
    for number in ["", "-1", "+1", "01", "00", " 1", "1.0", "0x1", "٣"] {
        let mut tag = hint.to_tag();
        tag[2] = number.into();
        assert_eq!(RangeHint::of(&tag), None, "{number}");
    }
}
