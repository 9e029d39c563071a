//! What the fuzz targets drive: one function for each parser of bytes from outside. Each panics when what
//! it promises does not hold.

use axum::http::{HeaderMap, HeaderValue, header};
use vocative_store::{Matcher, Tried};

use crate::bus::BusError;
use crate::relay::protocol::{self, Misunderstood, Request};
use crate::settings::Sources;

/// A client's message: what is not understood has an answer that is JSON, and an event that is understood
/// is written as the same event.
pub fn client_message(text: &str) {
    match Request::parse(text, 20) {
        Ok(Request::Event(event) | Request::Auth(event)) => {
            let written = protocol::event_json(&protocol::stored_event((*event).clone()));
            let read: nostr::event::Event = serde_json::from_str(&written).expect("an event is written");
            assert_eq!(read, *event);
            assert_eq!(read.verify_id(), event.verify_id());
            let message = protocol::event_message("\"\\\u{1}", &written);
            serde_json::from_str::<(String, String, nostr::event::Event)>(&message).expect("a message");
        }
        Ok(Request::Subscribe(id, filters) | Request::Count(id, filters)) => {
            assert!((1..=protocol::SUBSCRIPTION_ID).contains(&id.len()) && (1..=20).contains(&filters.len()));
            is_answer(&protocol::closed(&id, "why"));
        }
        Ok(Request::Close(id)) => is_answer(&protocol::end_of_stored(&id)),
        Err(misunderstood) => is_answer(&Misunderstood::answer(&misunderstood)),
    }
}

fn is_answer(text: &str) {
    let parts: Vec<serde_json::Value> = serde_json::from_str(text).expect("an answer is JSON");
    assert!(parts.len() > 1 && parts[0].is_string(), "{text}");
}

/// A filter: the two ways of trying it agree about every event.
pub fn filter(text: &str, event: &str) {
    let Ok(Request::Count(_, filters)) = Request::parse(&format!(r#"["COUNT","f",{text}]"#), 20) else {
        return;
    };
    let Ok(Request::Event(event)) = Request::parse(&format!(r#"["EVENT",{event}]"#), 20) else { return };
    let event = protocol::stored_event(*event);
    for filter in filters {
        assert_eq!(Matcher::new(&filter).matches(&Tried::new(&event)), filter.matches(&event));
    }
}

/// The value of a header `Accept`.
pub fn http_accept(value: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(value) else { return };
    let is_wanted =
        crate::server::wants_information(&HeaderMap::from_iter([(header::ACCEPT, value.clone())]));
    let mentions =
        value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("application/nostr+json"));
    assert!(!is_wanted || mentions);
}

/// A file of settings: what it results in can be shown and read again, without its secrets.
pub fn settings_file(text: &str) {
    let mut sources = Sources::default();
    if sources.file("settings.toml", text).is_err() {
        return;
    }
    let Ok(settings) = sources.settings("/data".into()) else { return };
    let mut again = Sources::default();
    again.file("shown.toml", &settings.shown()).expect("what is shown is a file of settings");
    let again = again.settings("/data".into()).expect("and of the same settings");
    assert_eq!((again.limits, again.owner, again.listen), (settings.limits, settings.owner, settings.listen));
    assert_eq!((again.name, again.public_url), (settings.name, settings.public_url));
}

/// The address of a bus: an error repeats none of it.
pub fn bus_address(text: &str) {
    if let Err(error) = crate::bus::parse(text) {
        assert!(matches!(error, BusError::Address(_)));
        assert!(error.to_string().len() < 400);
    }
}
