//! What a relay says (NIP-01), read as cheaply as a generator has to.

use memchr::memmem;

/// The first 64 bits of an event's id, which tell the events of one run apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShortId(u64);

impl ShortId {
    /// Reads the beginning of a hexadecimal id.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        u64::from_str_radix(id.get(..16)?, 16).ok().map(Self)
    }
}

/// A message of a relay.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    /// An event was accepted or refused.
    Ok { id: ShortId, accepted: bool, reason: String },
    /// An event for a subscription; those of this generator are called by numbers.
    Event { subscription: usize, id: ShortId },
    /// A subscription has everything that was stored.
    EndOfStored,
    /// A subscription was refused or ended.
    Closed { reason: String },
    /// Words for a person.
    Notice { text: String },
    /// Anything else, a challenge (NIP-42) among it.
    Other,
}

/// Reads a message.
pub(crate) fn read(message: &str) -> Said {
    event(message).or_else(|| other(message)).unwrap_or(Said::Other)
}

/// `["EVENT","SUBSCRIPTION",{…}]`, without reading the event but for its id.
fn event(message: &str) -> Option<Said> {
    let rest = message.strip_prefix(r#"["EVENT",""#)?;
    let (subscription, event) = rest.split_once('"')?;
    Some(Said::Event { subscription: subscription.parse().ok()?, id: id(event)? })
}

/// The value of the key `id`. In JSON a quote within a string is escaped, and a string that is no key
/// has no colon behind it, so nothing in an event's text or tags is taken for it.
fn id(event: &str) -> Option<ShortId> {
    memmem::find_iter(event.as_bytes(), br#""id""#).find_map(|place| {
        let value = event[place + 4..].trim_start().strip_prefix(':')?.trim_start();
        ShortId::parse(value.strip_prefix('"')?)
    })
}

/// Any message, read as JSON.
fn other(message: &str) -> Option<Said> {
    let words: Vec<serde_json::Value> = serde_json::from_str(message).ok()?;
    let text = |place: usize| words.get(place).and_then(serde_json::Value::as_str);
    let reason = |place: usize| text(place).unwrap_or_default().to_owned();
    Some(match text(0)? {
        "OK" => {
            let id = ShortId::parse(text(1)?)?;
            Said::Ok { id, accepted: words.get(2)?.as_bool()?, reason: reason(3) }
        }
        "EVENT" => {
            let id = words.get(2)?.get("id")?.as_str()?;
            Said::Event { subscription: text(1)?.parse().ok()?, id: ShortId::parse(id)? }
        }
        "EOSE" => Said::EndOfStored,
        "CLOSED" => Said::Closed { reason: reason(2) },
        "NOTICE" => Said::Notice { text: reason(1) },
        _ => Said::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000000000ff000000000000000000000000000000000000000000000000";

    #[test]
    fn messages_are_read_as_relays_write_them() {
        let id = ShortId(255);
        let restricted = "restricted: not a member".to_owned();
        let table = [
            (format!(r#"["OK","{ID}",true,""]"#), Said::Ok { id, accepted: true, reason: String::new() }),
            (
                format!(r#"["OK", "{ID}", false, "restricted: not a member"]"#),
                Said::Ok { id, accepted: false, reason: restricted.clone() },
            ),
            (format!(r#"["EVENT","7",{{"id":"{ID}","kind":9}}]"#), Said::Event { subscription: 7, id }),
            (
                format!(r#"["EVENT","7",{{"content":"\"id\":\"1234567890abcdef\"","id":"{ID}"}}]"#),
                Said::Event { subscription: 7, id },
            ),
            (
                format!(r#"["EVENT","7",{{"tags":[["id","1234567890abcdef"]], "id" : "{ID}"}}]"#),
                Said::Event { subscription: 7, id },
            ),
            (format!(r#"[ "EVENT", "7", {{"kind":9,"id":"{ID}"}} ]"#), Said::Event { subscription: 7, id }),
            (r#"["EOSE","7"]"#.into(), Said::EndOfStored),
            (
                r#"["CLOSED","7","restricted: not a member"]"#.into(),
                Said::Closed { reason: restricted.clone() },
            ),
            (r#"["NOTICE","restricted: not a member"]"#.into(), Said::Notice { text: restricted }),
            (r#"["AUTH","challenge"]"#.into(), Said::Other),
            (r#"["EVENT","7",{"id":"short"}]"#.into(), Said::Other),
            ("no JSON".into(), Said::Other),
        ];
        for (message, said) in table {
            assert_eq!(read(&message), said, "{message}");
        }
    }
}
