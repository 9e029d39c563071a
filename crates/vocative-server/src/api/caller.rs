//! Who makes a request: a key that signed it (NIP-98), or an account by its session.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use data_encoding::BASE64;
use nostr::event::{Event, Kind};
use sha2::{Digest, Sha256};
use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use vocative::Key;
use vocative_store::{EventId, Timestamp};

use super::{Api, Problem};
use crate::people::{Account, Session};
use crate::relay::{PublicUrl, protocol};

/// How far the time of a signed request may be off, in seconds.
const TOLERANCE: u64 = 60;
/// The most bytes of a signed request, as it is written in the header.
const PROOF: usize = 8 * 1024;

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The keys that are known to be the caller's: the one that signed, or those of the account.
    pub(crate) keys: Vec<Key>,
    /// By what the caller is known.
    pub(crate) proof: Proof,
}

/// By what a caller is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A request signed by a key (NIP-98), by the event of this id.
    Signed {
        /// The event that signs it.
        event: EventId,
        /// Whether it covers the body.
        covers_body: bool,
    },
    /// The session of an account, by its token or by the cookie of a browser.
    Session(Session),
}

/// A caller whose request is still to be held against its body.
pub(crate) struct Claim {
    caller: Caller,
    payload: Option<String>,
}

impl Caller {
    /// Who claims to make this request.
    ///
    /// # Errors
    /// 401 when nobody does, or the claim is wrong.
    pub(crate) async fn claim(parts: &mut Parts, api: &Arc<Api>) -> Result<Claim, Problem> {
        let Some(header) = authorization(&parts.headers)? else {
            let token = cookie(&parts.headers, session_cookie(&api.url));
            let token = token.ok_or_else(Problem::not_logged_in)?;
            // Other sites can make a browser send its cookie, but not say that they are this one.
            if !parts.method.is_safe() && !is_same_origin(&parts.headers, &api.url) {
                return Err(other_origin());
            }
            return with_token(token, api).await;
        };
        match header.split_once(' ') {
            Some((scheme, event)) if scheme.eq_ignore_ascii_case("nostr") => {
                signed(event, parts, &api.url, api.node.now())
            }
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                with_token(token.trim(), api).await
            }
            _ => Err(Problem::not_logged_in()),
        }
    }

    /// The caller's account: that of the session, or the one to which the key is linked.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn find_account(&self, api: &Api) -> Result<Option<Account>, Problem> {
        let id = match (&self.proof, self.keys.first()) {
            (Proof::Session(session), _) => Some(session.account),
            (Proof::Signed { .. }, Some(key)) => api.people.account_with(*key).await?,
            (Proof::Signed { .. }, None) => None,
        };
        match id {
            Some(id) => Ok(api.people.account(id).await?),
            None => Ok(None),
        }
    }

    /// The caller's account, for what only people with one may do.
    ///
    /// # Errors
    /// 401 without one.
    pub(crate) async fn account(&self, api: &Api) -> Result<Account, Problem> {
        let says = "this needs an account: log in, or link the key to the account of a login";
        let none = || Problem::new(StatusCode::UNAUTHORIZED, "not_logged_in", says);
        self.find_account(api).await?.ok_or_else(none)
    }

    /// That the community's owner asks, by a signed request.
    ///
    /// # Errors
    /// 403 for everyone else.
    pub(crate) fn is_owner(&self, api: &Api) -> Result<(), Problem> {
        let is_signed = matches!(self.proof, Proof::Signed { .. });
        if is_signed && self.keys.iter().any(|key| api.node.is_owner(*key)) {
            return Ok(());
        }
        let says = "only the owner of the community may do this, by a signed request (NIP-98)";
        Err(Problem::new(StatusCode::FORBIDDEN, "not_owner", says))
    }

    /// Whether the caller is still known by what made them known: a session may have ended since.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn is_still_known(&self, api: &Api) -> Result<bool, Problem> {
        let Proof::Session(session) = &self.proof else { return Ok(true) };
        let logins = api.people.logins(session.account).await?;
        Ok(logins.iter().any(|login| login.id == session.login))
    }

    /// The caller's session.
    ///
    /// # Errors
    /// 401 for whoever is known by a key only.
    pub(crate) fn session(&self) -> Result<&Session, Problem> {
        match &self.proof {
            Proof::Session(session) => Ok(session),
            Proof::Signed { .. } => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "not_logged_in",
                "this needs a login: a session token, not a signed request",
            )),
        }
    }
}

impl Claim {
    /// The caller, if the request was made with this body.
    pub(crate) fn over(self, body: &[u8]) -> Result<Caller, Problem> {
        let is_covered = match &self.payload {
            Some(payload) => *payload == data_encoding::HEXLOWER.encode(&Sha256::digest(body)),
            None => body.is_empty() || !matches!(self.caller.proof, Proof::Signed { .. }),
        };
        match is_covered {
            true => Ok(self.caller),
            false => Err(refused("the `payload` tag is not the SHA-256 of the body, in hex")),
        }
    }
}

/// A caller of a path that takes no body.
impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        Self::claim(parts, api).await?.over(b"")
    }
}

/// Whose session token it is.
async fn with_token(token: &str, api: &Api) -> Result<Claim, Problem> {
    let session = api.people.session(token).await?.ok_or_else(Problem::not_logged_in)?;
    let keys = api.people.account(session.account).await?.map(|account| account.keys).unwrap_or_default();
    Ok(Claim { caller: Caller { keys, proof: Proof::Session(session) }, payload: None })
}

/// The name of the cookie that holds a browser's session. By TLS it is one that no other host, and no page
/// without TLS, can set.
pub(crate) fn session_cookie(url: &PublicUrl) -> &'static str {
    if url.is_secure() { "__Host-vocative" } else { "vocative" }
}

/// The only cookie of a name. Of several one may have been planted, so that none counts.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    let value = values.next();
    value.filter(|_| values.next().is_none())
}

fn is_same_origin(headers: &HeaderMap, url: &PublicUrl) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    origin.is_some_and(|origin| url.is_origin(origin))
}

fn other_origin() -> Problem {
    let says = "a request with a cookie that changes something has to come from a page of this server";
    Problem::new(StatusCode::FORBIDDEN, "other_origin", says)
}

fn authorization(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(header), None) => header.to_str().map(Some).map_err(|_| Problem::not_logged_in()),
        (Some(_), Some(_)) => Err(refused("there is more than one Authorization")),
    }
}

fn refused(why: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "bad_authorization", format!("the signed request is wrong: {why}"))
}

/// The key that signed a request (NIP-98).
fn signed(credentials: &str, parts: &Parts, url: &PublicUrl, now: Timestamp) -> Result<Claim, Problem> {
    if credentials.len() > PROOF {
        return Err(refused("it is too long"));
    }
    let event = BASE64.decode(credentials.trim().as_bytes()).map_err(|_| refused("it is no base64"))?;
    let event = Event::from_json(event).map_err(|_| refused("it is no event"))?;
    if event.kind != Kind::HttpAuth {
        return Err(refused("its kind is not 27235"));
    }
    if event.created_at.as_secs().abs_diff(now.as_secs()) > TOLERANCE {
        return Err(refused("created_at is more than 60 seconds off"));
    }
    let only = |name: &str| {
        let mut values = event.tags.iter().filter(|tag| tag.kind() == name).filter_map(|tag| tag.content());
        let value = values.next();
        value.filter(|_| values.next().is_none())
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if !only("u").is_some_and(|named| url.names(named, path)) {
        return Err(refused("the `u` tag is not the address of this request"));
    }
    if only("method") != Some(parts.method.as_str()) {
        return Err(refused("the `method` tag is not the method of this request"));
    }
    let payload = only("payload").map(str::to_owned);
    if payload.is_none() && event.tags.iter().any(|tag| tag.kind() == "payload") {
        return Err(refused("it has several `payload` tags"));
    }
    // Last, for it costs the most.
    event.verify().map_err(|_| refused("the id or the signature is wrong"))?;
    let proof =
        Proof::Signed { event: EventId::from_bytes(event.id.to_bytes()), covers_body: payload.is_some() };
    Ok(Claim { caller: Caller { keys: vec![protocol::key(event.pubkey)], proof }, payload })
}

/// The ways in which a caller is known, for the description.
pub(super) struct Schemes;

impl Modify for Schemes {
    fn modify(&self, description: &mut OpenApi) {
        let components = description.components.get_or_insert_default();
        let nostr = ApiKeyValue::with_description(
            "Authorization",
            "`Nostr ` and the base64 of an event of kind 27235 (NIP-98). A body needs a `payload` tag.",
        );
        components.add_security_scheme("nostr", SecurityScheme::ApiKey(ApiKey::Header(nostr)));
        let token =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A session token, `voc_…`."));
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
        let cookie = ApiKeyValue::with_description(
            "vocative",
            "The session of a browser; by TLS it is called `__Host-vocative`. A change needs `Origin`.",
        );
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use data_encoding::{BASE64, HEXLOWER};
    use nostr::event::{EventBuilder, FinalizeEvent, Kind, Tag};
    use nostr::key::Keys;
    use nostr::types::{RelayUrl, Timestamp as At};
    use sha2::{Digest, Sha256};
    use vocative_store::Timestamp;

    use super::signed;
    use crate::relay::PublicUrl;

    const PATH: &str = "/v1/messages?x=1";

    #[test]
    fn a_signed_request_is_this_one_now_and_with_this_body() {
        let set = PublicUrl::Set(RelayUrl::parse("wss://chat.example.com/").expect("a URL"));
        let loopback = PublicUrl::Loopback { port: 7787 };
        let digest = |body: &str| HEXLOWER.encode(&Sha256::digest(body));
        let (right, other) = (digest("body"), digest("other"));
        let (u, at, kind) = ("https://chat.example.com/v1/messages?x=1", 1000, 27_235);
        let table = [
            (&set, u, "POST", Some(&right), at, kind, true),
            (&set, u, "POST", Some(&other), at, kind, false),
            (&set, u, "POST", None, at, kind, false),
            (&set, u, "GET", Some(&right), at, kind, false),
            (&set, u, "post", Some(&right), at, kind, false),
            (&set, u, "POST", Some(&right), at + 60, kind, true),
            (&set, u, "POST", Some(&right), at + 61, kind, false),
            (&set, u, "POST", Some(&right), at - 61, kind, false),
            (&set, u, "POST", Some(&right), at, 22_242, false),
            (&set, "https://chat.example.com/v1/messages", "POST", Some(&right), at, kind, false),
            (&set, "https://chat.example.com/v1/messages?x=2", "POST", Some(&right), at, kind, false),
            (&set, "http://chat.example.com/v1/messages?x=1", "POST", Some(&right), at, kind, false),
            (
                &set,
                "https://chat.example.com.evil.net/v1/messages?x=1",
                "POST",
                Some(&right),
                at,
                kind,
                false,
            ),
            (
                &set,
                "https://chat.example.com@evil.net/v1/messages?x=1",
                "POST",
                Some(&right),
                at,
                kind,
                false,
            ),
            (&loopback, "http://localhost:7787/v1/messages?x=1", "POST", Some(&right), at, kind, true),
            (&loopback, "http://127.0.0.1:7787/v1/messages?x=1", "POST", Some(&right), at, kind, true),
            (&loopback, "http://127.0.0.1:7788/v1/messages?x=1", "POST", Some(&right), at, kind, false),
            (&loopback, "http://example.com:7787/v1/messages?x=1", "POST", Some(&right), at, kind, false),
        ];
        let keys = Keys::generate();
        for (url, u, method, payload, at, kind, expected) in table {
            let tags = [Some(["u", u]), Some(["method", method]), payload.map(|digest| ["payload", digest])];
            let tags = tags.into_iter().flatten().map(|tag| Tag::parse(tag).expect("a tag"));
            let event = EventBuilder::new(Kind::from(kind), "").tags(tags).custom_created_at(At::from(at));
            let event = event.finalize(&keys).expect("it signs");
            let parts = Request::post(PATH).body(()).expect("a request").into_parts().0;
            let credentials = BASE64.encode(event.as_json().as_bytes());
            let claim = signed(&credentials, &parts, url, Timestamp::from_secs(1000));
            let caller = claim.and_then(|claim| claim.over(b"body"));
            assert_eq!(caller.is_ok(), expected, "{u} {method} {payload:?} {at} {kind}: {caller:?}");
        }
    }

    #[test]
    fn a_forged_signature_is_nobody() {
        let set = PublicUrl::Set(RelayUrl::parse("wss://chat.example.com/").expect("a URL"));
        let tags = [["u", "https://chat.example.com/v1/messages?x=1"], ["method", "POST"]];
        let tags = tags.map(|tag| Tag::parse(tag).expect("a tag"));
        let event = EventBuilder::new(Kind::HttpAuth, "").tags(tags).custom_created_at(At::from(1000));
        let event = event.finalize(&Keys::generate()).expect("it signs").as_json();
        let other = event.replace("\"content\":\"\"", "\"content\":\"x\"");
        let parts = Request::post(PATH).body(()).expect("a request").into_parts().0;
        for (event, expected) in [(event, true), (other, false)] {
            let claim = signed(&BASE64.encode(event.as_bytes()), &parts, &set, Timestamp::from_secs(1000));
            assert_eq!(claim.is_ok(), expected, "{event}");
        }
    }
}
