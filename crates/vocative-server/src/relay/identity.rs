//! The relay's own key, with which it describes channels (NIP-11 `self`).

use std::str::FromStr;

use nostr::event::{EventBuilder, FinalizeEvent, Kind};
use nostr::key::{Keys, SecretKey};
use vocative::{Key, Tag};
use vocative_store::{Event, Store, StoreError, Timestamp};

use super::protocol::{Reason, Refused, key, stored_event};

/// The name under which the store keeps the secret key.
const SETTING: &str = "relay_secret_key";

/// Signs for the relay.
pub(crate) struct Identity {
    keys: Keys,
}

impl Identity {
    /// The identity of the community that this store holds; made when there is none. All nodes have the
    /// same: the first that sets it wins.
    pub(crate) async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let kept = match store.setting(SETTING).await? {
            Some(kept) => kept,
            None => {
                let made = Keys::generate().secret_key().to_secret_hex();
                store.set_once(SETTING, made.as_bytes()).await?
            }
        };
        let secret = std::str::from_utf8(&kept).ok().and_then(|hex| SecretKey::from_str(hex).ok());
        // What stands there is not said: it may be most of a key.
        let secret = secret.ok_or_else(|| StoreError::Damaged("the relay's key is none".to_owned()))?;
        Ok(Self { keys: Keys::new(secret) })
    }

    /// The public key.
    pub(crate) fn key(&self) -> Key {
        key(self.keys.public_key())
    }

    /// An event by the relay, without text.
    pub(crate) fn sign(&self, kind: u32, tags: Vec<Tag>, at: Timestamp) -> Result<Event, Refused> {
        let failed = |error: nostr::error::Error| {
            tracing::error!(%error, kind, "the relay could not sign an event");
            Refused::new(Reason::Error, "the relay could not sign its answer")
        };
        let kind = u16::try_from(kind).expect("the relay's own kinds are small");
        let tags: Result<Vec<nostr::event::Tag>, _> =
            tags.into_iter().map(nostr::event::Tag::parse).collect();
        let at = nostr::types::Timestamp::from(at.as_secs());
        let unsigned =
            EventBuilder::new(Kind::from(kind), "").tags(tags.map_err(failed)?).custom_created_at(at);
        unsigned.finalize(&self.keys).map(stored_event).map_err(failed)
    }
}
