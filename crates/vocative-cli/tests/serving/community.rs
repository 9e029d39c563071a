//! Who is there, and what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nostr::event::Event;

use crate::node::Node;
use crate::support::Person;

/// Two channels, `open` and `secret` (private), and members of both.
pub struct Community {
    pub owner: Person,
    pub members: Vec<Arc<Person>>,
}

impl Community {
    pub fn of(count: usize) -> Self {
        let members = (0..count).map(|_| Arc::new(Person::new())).collect();
        Self { owner: Person::new(), members }
    }

    /// Makes the channels.
    pub async fn found(&self, node: &Node) {
        let mut client = node.connect().await;
        client.store(&self.owner.event(9007, &[&["h", "open"]], "")).await;
        client.store(&self.owner.event(9007, &[&["h", "secret"], &["private"]], "")).await;
        let keys: Vec<[String; 2]> =
            self.members.iter().map(|member| ["p".to_owned(), member.hex()]).collect();
        for channel in ["open", "secret"] {
            let named = keys.iter().map(|tag| tag.each_ref().map(String::as_str));
            let tags: Vec<[&str; 2]> = std::iter::once(["h", channel]).chain(named).collect();
            let tags: Vec<&[&str]> = tags.iter().map(|tag| &tag[..]).collect();
            client.store(&self.owner.event(9000, &tags, "")).await;
        }
    }

    /// A member who goes on talking in a channel, naming the others in turn.
    pub fn talk(&self, who: usize, channel: &str) -> impl FnMut(usize) -> Event + Send + 'static {
        let speaker = Arc::clone(&self.members[who]);
        let others: Vec<String> = self.members.iter().map(|member| member.hex()).collect();
        let channel = channel.to_owned();
        move |n| {
            let (one, two) = (&others[n % others.len()], &others[(n + 1) % others.len()]);
            let text = text(&format!("{n} of {who}"));
            speaker.event(9, &[&["h", &channel], &["p", one], &["p", two]], &text)
        }
    }
}

/// A text that is said only once: the same in the same second would be the same event.
pub fn text(begins: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{begins}, {}", NEXT.fetch_add(1, Ordering::Relaxed))
}
