//! Values that name and order what is stored. Each has one type, so that none stands for another.

use std::fmt;
use std::str::FromStr;

use vocative::Key;

/// The id of an event: 32 bytes, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId([u8; 32]);

impl EventId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for EventId {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        // An id is written as a key is.
        let key: Key = text.parse().map_err(|_| BadValue::EventId)?;
        Ok(Self(*key.as_bytes()))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Key::from_bytes(self.0), f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a channel: the value of an `h` tag (section 1). 1 to 128 bytes without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(Box<str>);

impl ChannelId {
    /// The longest name, in bytes.
    pub const MAX: usize = 128;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChannelId {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let fits = (1..=Self::MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.into())) } else { Err(BadValue::ChannelId) }
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Seconds since 1970, as an event says them (NIP-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The latest that can be stored: what a signed 64-bit column holds.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// This many seconds since 1970.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs)
    }

    /// The next second.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Seconds since 1970.
    pub const fn as_secs(self) -> u64 {
        self.0
    }
}

/// The place of an event in the order of commits (section 1, Delivery). Positions only grow; some are
/// never taken, and one that was seen is never followed by a late smaller one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

impl Position {
    /// Before every event.
    pub const START: Self = Self(0);

    /// The position with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Why a text is no such value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// Not 64 hex digits.
    #[error("an event id is 64 hex digits")]
    EventId,
    /// Empty, too long, or with a control character.
    #[error("a channel name is 1 to 128 bytes without control characters")]
    ChannelId,
    /// Empty, too long, or with a control character.
    #[error("a name is 1 to 128 bytes without control characters")]
    Name,
    /// Not what a place in an inbox is written as.
    #[error("a cursor is what an earlier page ended with")]
    Cursor,
    /// Not what a part of the index is written as.
    #[error("a part of the index is what it was written as")]
    IndexPart,
}
