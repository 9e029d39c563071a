//! What the relay says about itself (NIP-11).

use serde_json::{Value, json};
use vocative_store::Filter;

use super::admission::{AHEAD, BACK};
use super::connection::MESSAGE;
use super::protocol::SUBSCRIPTION_ID;
use super::state::State;

/// The NIPs that are served.
const NIPS: [u32; 7] = [1, 9, 11, 29, 42, 45, 50];

/// The document.
pub(crate) fn information(state: &State) -> String {
    let limits = &state.settings.limits;
    let mut document = json!({
        "name": state.settings.name,
        "description": "A community whose mentions are exact. Stored events come newest first \
            (created_at descending, then id ascending), those of a search too.",
        "self": state.identity.key().to_string(),
        "supported_nips": NIPS,
        "software": env!("CARGO_PKG_REPOSITORY"),
        "version": env!("CARGO_PKG_VERSION"),
        "limitation": {
            "max_message_length": MESSAGE,
            "max_subscriptions": limits.subscriptions,
            "max_filters": limits.filters,
            "max_limit": Filter::MAX_LIMIT,
            "default_limit": Filter::DEFAULT_LIMIT,
            "max_subid_length": SUBSCRIPTION_ID,
            "max_event_tags": 2000,
            "max_content_length": vocative::limits::BODY,
            "created_at_lower_limit": BACK,
            "created_at_upper_limit": AHEAD,
            "auth_required": false,
            "payment_required": false,
            "restricted_writes": true,
        },
    });
    if let (Some(owner), Value::Object(fields)) = (state.settings.owner, &mut document) {
        fields.insert("pubkey".to_owned(), owner.to_string().into());
    }
    document.to_string()
}
