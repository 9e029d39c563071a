//! Who writes what where: keys, channels, and the events that are signed before any clock starts.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use nostr::event::{Event, EventBuilder, FinalizeEvent, Kind, Tag};
use nostr::key::Keys;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::wire::ShortId;

/// What the events of a run look like.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Shape {
    /// Keys that write; each belongs to one channel.
    #[arg(long, default_value_t = 100, global = true)]
    pub writers: usize,
    /// Channels.
    #[arg(long, default_value_t = 10, global = true)]
    pub channels: usize,
    /// Bytes of text of each event.
    #[arg(long, default_value_t = 200, global = true)]
    pub text: usize,
    /// `p` tags of each event.
    #[arg(long, default_value_t = 2, global = true)]
    pub mentions: usize,
    /// Keys that the `p` tags name in turn.
    #[arg(long, default_value_t = 10_000, global = true)]
    pub people: usize,
}

/// The keys and channels of one run.
pub(crate) struct Cast {
    pub shape: Shape,
    pub owner: Keys,
    writers: Vec<Keys>,
    /// Public keys in hexadecimal.
    people: Vec<String>,
}

/// Signed events as they go over the wire.
pub(crate) struct Batch {
    pub frames: Vec<Utf8Bytes>,
    numbers: HashMap<ShortId, u32>,
    /// How long signing took, over all cores.
    pub signing: Duration,
}

impl Cast {
    /// New keys.
    pub(crate) fn new(shape: Shape) -> Self {
        let keys = |count: usize| std::iter::repeat_with(Keys::generate).take(count);
        let people = keys(shape.people).map(|keys| keys.public_key().to_hex()).collect();
        Self { shape, owner: Keys::generate(), writers: keys(shape.writers).collect(), people }
    }

    /// The events that make the channels and let the writers in (NIP-29), signed by the owner.
    pub(crate) fn set_up(&self) -> Result<Batch, String> {
        let create = (0..self.shape.channels).map(|number| {
            let channel = channel(number);
            let name = Tag::custom("name", [format!("Load {number}")]);
            EventBuilder::new(Kind::from(9007), "").tag(Tag::custom("h", [channel])).tag(name)
        });
        let admit = self.writers.iter().enumerate().map(|(number, writer)| {
            let channel = Tag::custom("h", [channel(self.channel_of(number))]);
            let key = Tag::custom("p", [writer.public_key().to_hex()]);
            EventBuilder::new(Kind::from(9000), "").tag(channel).tag(key)
        });
        let signed = create.chain(admit).map(|event| event.finalize(&self.owner));
        let signed = signed.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        Batch::of(signed.iter().map(frame).collect(), Duration::ZERO)
    }

    /// Signs this many messages on all cores. Each is dated when it is signed, a little before it is sent.
    pub(crate) fn messages(&self, count: usize) -> Result<Batch, String> {
        let begin = Instant::now();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = count.div_ceil(threads).max(1);
        let signed: Result<Vec<_>, String> = thread::scope(|scope| {
            let parts: Vec<_> = (0..count)
                .step_by(share)
                .map(|from| {
                    let numbers = from..(from + share).min(count);
                    scope.spawn(|| numbers.map(|number| self.message(number)).collect::<Result<Vec<_>, _>>())
                })
                .collect();
            let parts = parts.into_iter().map(|part| part.join().map_err(|_| "signing failed".to_owned())?);
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        });
        Batch::of(signed?, begin.elapsed())
    }

    fn message(&self, number: usize) -> Result<(ShortId, Utf8Bytes), String> {
        let writer = &self.writers[number % self.writers.len()];
        let channel = Tag::custom("h", [channel(self.channel_of(number))]);
        let mentions = self.mentioned(number).map(|person| Tag::custom("p", [self.people[person].clone()]));
        let event = EventBuilder::new(Kind::from(9), text(number, self.shape.text));
        let event = event.tag(channel).tags(mentions).finalize(writer).map_err(|error| error.to_string())?;
        Ok(frame(&event))
    }

    /// The channel of message `number`.
    pub(crate) fn channel_of(&self, number: usize) -> usize {
        number % self.writers.len() % self.shape.channels
    }

    /// The people whom message `number` names: different ones, and all in turn.
    pub(crate) fn mentioned(&self, number: usize) -> impl Iterator<Item = usize> {
        let (first, count) = (number * self.shape.mentions, self.people.len());
        (first..first + self.shape.mentions).map(move |place| place % count)
    }

    /// The public key of one of the people.
    pub(crate) fn person(&self, number: usize) -> &str {
        &self.people[number]
    }
}

impl Batch {
    fn of(signed: Vec<(ShortId, Utf8Bytes)>, signing: Duration) -> Result<Self, String> {
        let numbers: HashMap<ShortId, u32> = (0_u32..).zip(&signed).map(|(n, (id, _))| (*id, n)).collect();
        if numbers.len() != signed.len() {
            return Err("two events have the same beginning of an id; run again".into());
        }
        Ok(Self { frames: signed.into_iter().map(|(_, frame)| frame).collect(), numbers, signing })
    }

    /// The number of an event.
    pub(crate) fn number(&self, id: ShortId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The mean size of a frame in bytes.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.len()).sum::<usize>() / self.frames.len().max(1)
    }
}

/// The name of a channel.
pub(crate) fn channel(number: usize) -> String {
    format!("load-{number}")
}

fn frame(event: &Event) -> (ShortId, Utf8Bytes) {
    let id = ShortId::parse(&event.id.to_hex()).expect("an id in hexadecimal");
    (id, format!(r#"["EVENT",{}]"#, event.as_json()).into())
}

/// A text of this many bytes that no other message has.
fn text(number: usize, bytes: usize) -> String {
    const WORDS: &str =
        "the build is green again after that change, please look at it when you have a moment; ";
    let mut text = format!("{number} ");
    while text.len() < bytes {
        text.push_str(WORDS);
    }
    text.truncate(bytes.max(text.find(' ').unwrap_or(0)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { writers: 5, channels: 2, text: 50, mentions: 3, people: 10 };

    #[test]
    fn messages_verify_and_have_the_shape_that_was_asked_for() {
        let cast = Cast::new(SHAPE);
        let batch = cast.messages(25).expect("signed");
        assert_eq!(batch.frames.len(), 25);
        for (number, frame) in batch.frames.iter().enumerate() {
            let event = frame.strip_prefix(r#"["EVENT","#).and_then(|event| event.strip_suffix(']'));
            let event = Event::from_json(event.expect("a frame")).expect("an event");
            event.verify().expect("signed");
            assert_eq!(batch.number(ShortId::parse(&event.id.to_hex()).expect("an id")), Some(number as u32));
            assert_eq!((event.kind, event.content.len()), (Kind::from(9), 50));
            let mut tags = vec![("h", channel(cast.channel_of(number)))];
            tags.extend(cast.mentioned(number).map(|person| ("p", cast.person(person).to_owned())));
            let found: Vec<_> =
                event.tags.iter().map(|tag| (tag.kind(), tag.content().unwrap_or("").to_owned())).collect();
            assert_eq!(found, tags, "{number}");
        }
    }

    #[test]
    fn every_writer_is_let_into_the_channel_that_it_writes_in() {
        let cast = Cast::new(SHAPE);
        let set_up = cast.set_up().expect("signed");
        let admitted: Vec<&str> = set_up.frames.iter().map(Utf8Bytes::as_str).skip(SHAPE.channels).collect();
        for (number, message) in cast.messages(20).expect("signed").frames.iter().enumerate() {
            let writer = cast.writers[number % SHAPE.writers].public_key().to_hex();
            assert!(message.contains(&writer));
            let channel = format!(r#"["h","{}"]"#, channel(cast.channel_of(number)));
            assert!(admitted.iter().any(|event| event.contains(&writer) && event.contains(&channel)));
        }
    }
}
