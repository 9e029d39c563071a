//! What a community has on the bus: one subject, and one stream that keeps its last message.

use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};

use super::error::BusError;

/// The names of a community's subject and stream.
pub(super) struct Channel {
    pub(super) subject: String,
    pub(super) stream: String,
}

impl Channel {
    /// Different communities have different names, whatever they are called.
    pub(super) fn of(community: &str) -> Result<Self, BusError> {
        // A stream's name has at most 255 bytes, and escaping makes three of one.
        if !(1..=60).contains(&community.len()) {
            return Err(BusError::Community(community.len()));
        }
        let mut name = String::new();
        for byte in community.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' {
                name.push(char::from(byte));
            } else {
                name.push_str(&format!("_{byte:02x}"));
            }
        }
        Ok(Self { subject: format!("vocative.{name}.wake"), stream: format!("vocative-{name}") })
    }

    /// The stream. A wake-up means nothing once every node has read the store, and each node does so when it
    /// comes back, so nothing is worth a disk: it is in memory, and made again after a restart of the bus.
    pub(super) fn stream(&self) -> Config {
        Config {
            name: self.stream.clone(),
            subjects: vec![self.subject.clone()],
            description: Some("Wake-ups between the nodes of a Vocative community".to_owned()),
            max_messages: 1,
            max_messages_per_subject: 1,
            max_message_size: 64,
            discard: DiscardPolicy::Old,
            storage: StorageType::Memory,
            ..Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_different() {
        let communities = ["a", "A", "a.b", "a_2eb", "wss://chat.example.org", "*", ">", " ", "日本", "a-b"];
        let mut streams: Vec<String> = communities
            .iter()
            .map(|community| {
                let channel = Channel::of(community).expect("it has a name");
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
                assert!(channel.stream.bytes().all(is_plain), "{}", channel.stream);
                assert_eq!(channel.subject.split('.').count(), 3, "{}", channel.subject);
                channel.stream
            })
            .collect();
        streams.sort();
        streams.dedup();
        assert_eq!(streams.len(), communities.len());
        assert_eq!(
            Channel::of("wss://a.b").map(|channel| channel.stream),
            Ok("vocative-wss_3a_2f_2fa_2eb".into())
        );
    }

    #[test]
    fn a_name_has_bounds() {
        for (community, is_one) in [("", false), (&"é".repeat(30), true), (&"é".repeat(31), false)] {
            assert_eq!(Channel::of(community).is_ok(), is_one, "{community}");
        }
        let longest = Channel::of(&"é".repeat(30)).expect("it has a name");
        assert!(longest.stream.len() <= 255);
    }
}
