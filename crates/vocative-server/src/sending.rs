//! Exact sends (section 2): what a text becomes when it is sent to a channel, and whom that names.
//!
//! The engine decides whom a text names; it is given the channel's names here, and what it says becomes an
//! event. Nothing is signed here: the event goes to its author's client and comes back signed. It is then
//! composed again, so that nobody is named who would not be now.

use serde::Serialize;
use vocative::wire::kinds;
use vocative::{Ambiguous, Key, WireError};
use vocative_store::{ChannelId, EventId, StoreError};

use crate::relay::protocol::{Reason, Refused};

mod compose;
mod names;
mod people;
mod publish;
mod versions;

pub(crate) use compose::{Composed, Told, compose};
pub(crate) use names::Names;
pub(crate) use people::Named;
pub(crate) use publish::publish;
pub(crate) use versions::{Message, Occurrence, Version, history, message};

/// A message that somebody is about to send.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    /// Whose key will sign it.
    pub(crate) author: Key,
    pub(crate) what: What,
    pub(crate) naming: Naming,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Something new.
    New {
        channel: ChannelId,
        form: Form,
        text: String,
        /// What it replies to, or comments on.
        reply_to: Option<EventId>,
    },
    /// A replacement of a message's text.
    Edit { message: EventId, text: String },
    /// A message as it reads now, in another channel.
    Forward { channel: ChannelId, message: EventId },
}

/// What something new is (T-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Message,
    Post,
    Comment,
}

impl Form {
    pub(crate) fn kind(self) -> u32 {
        match self {
            Self::Message => kinds::MESSAGE,
            Self::Post => kinds::FORUM_POST,
            Self::Comment => kinds::FORUM_COMMENT,
        }
    }

    /// What has this kind, the older one of messages included.
    pub(crate) fn of(kind: u32) -> Option<Self> {
        match kind {
            kinds::MESSAGE | kinds::STREAM_MESSAGE => Some(Self::Message),
            kinds::FORUM_POST => Some(Self::Post),
            kinds::FORUM_COMMENT => Some(Self::Comment),
            _ => None,
        }
    }

    /// Whether something of this form replies to something of that.
    fn replies_to(self, other: Self) -> bool {
        match self {
            Self::Message => other == Self::Message,
            Self::Post => false,
            Self::Comment => other != Self::Message,
        }
    }
}

/// Whom a sender has named, and how names in the text are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naming {
    /// Recipients beside the text, with the label that stands for each; without one its current name does
    /// (E-7).
    pub(crate) to: Vec<(Option<String>, Key)>,
    /// Choices in the text: a label that owns nothing names nobody (E-2).
    pub(crate) bindings: Vec<(String, Key)>,
    /// Recipients that were addressed automatically (W-8).
    pub(crate) addressed: Vec<Key>,
    /// Whether typed names count. Absent: those of people do, those of agents do not.
    pub(crate) typed: Option<bool>,
    /// Whoever is no member of the channel is referred to and not notified (T-6).
    pub(crate) without_inviting: bool,
}

impl Naming {
    /// Every key that it names.
    fn keys(&self) -> impl Iterator<Item = Key> {
        let to = self.to.iter().map(|(_, key)| *key);
        let bound = self.bindings.iter().map(|(_, key)| *key);
        to.chain(bound).chain(self.addressed.iter().copied())
    }
}

/// Why nothing is sent.
#[derive(Debug)]
pub(crate) enum CannotSend {
    /// A name that several bear, with everyone it could mean.
    Ambiguous(Ambiguous, Vec<Named>),
    /// Recipients that are no members of the channel.
    NotMembers(Vec<Named>),
    /// A request that contradicts itself.
    Nonsense(&'static str),
    /// The text cannot be stored.
    BadText { code: &'static str, message: String },
    /// There is no such channel, or the author may not write in it.
    NoChannel,
    /// There is no such message, or the author may not read it.
    NoMessage,
    /// The author may read the message and not edit it.
    NotYours,
    /// The id or the signature of an event is wrong.
    Forged,
    /// Too many recipients or references.
    Tags(WireError),
    /// Whom the event names, and whom its text and choices would name now.
    RosterChanged(Box<Difference>),
    /// A later edit counts already, so that this one never would.
    EditedMeanwhile,
    /// An event that differs from what its text and choices make, otherwise than by whom it names.
    NotAsComposed,
    /// The relay refuses it.
    Refused(Refused),
    /// The store failed.
    Store(StoreError),
}

/// How the recipients of an event differ from those it would have now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// Notified by the event, and not any more.
    pub(crate) not_notified: Vec<Named>,
    /// Not notified by the event, and now they would be.
    pub(crate) notified: Vec<Named>,
    /// Referred to by the event, and not any more.
    pub(crate) not_referred: Vec<Named>,
    /// Not referred to by the event, and now they would be.
    pub(crate) referred: Vec<Named>,
}

impl From<StoreError> for CannotSend {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<WireError> for CannotSend {
    fn from(error: WireError) -> Self {
        Self::Tags(error)
    }
}

impl From<Refused> for CannotSend {
    /// A channel that may not be used looks like none.
    fn from(refused: Refused) -> Self {
        if refused.reason == Reason::Restricted && refused.why == crate::relay::NO_CHANNEL {
            return Self::NoChannel;
        }
        Self::Refused(refused)
    }
}
