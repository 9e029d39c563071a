//! A community's server, as commands ask it over HTTP.
//!
//! What it answers is untrusted: it is bounded in size and time, its words are shown and never obeyed, and
//! nothing is followed to another address.

use std::str::FromStr;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use nostr::event::{EventBuilder, FinalizeEvent, Kind, Tag};
use nostr::key::Keys;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use ureq::http::{self, Method};
use url::{Host, Url};

use crate::config::Config;
use crate::outcome::{Failure, Outcome};

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How long a server may take to be reached, and then to begin, and to end, its answer.
const TO_CONNECT: Duration = Duration::from_secs(15);
const TO_ANSWER: Duration = Duration::from_secs(60);
/// How long a body may take on its way: the longest is a session of 64 MiB.
const TO_SEND: Duration = Duration::from_secs(300);

/// Which server a command asks.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// The community's server: https://… or wss://… [default: VOCATIVE_SERVER, or `server` in
    /// config.toml in the user's configuration folder].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

impl ServerArgs {
    /// The server that was named, the nearest first: by the flag, the environment, the file.
    ///
    /// # Errors
    /// `no_server` when none is, `bad_server` for an address that is none.
    pub(crate) fn address(&self) -> Result<Address, Failure> {
        let variable = || std::env::var("VOCATIVE_SERVER").ok().filter(|value| !value.is_empty());
        let named = match self.server.clone().or_else(variable) {
            Some(named) => Some(named),
            None => Config::read()?.server,
        };
        let none = "no server is named: use --server, VOCATIVE_SERVER, or `server` in config.toml";
        let named = named.ok_or_else(|| Failure { code: "no_server".into(), ..Failure::usage(none) })?;
        named.parse().map_err(|why: String| Failure { code: "bad_server".into(), ..Failure::usage(why) })
    }
}

/// The address of a server, as HTTP takes it, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(Url);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const SHAPE: &str = "the address of a server begins with https://, wss://, http:// or ws://";
        let mut url = Url::parse(text).map_err(|error| format!("{SHAPE}: {error}"))?;
        let scheme = match url.scheme() {
            "https" | "wss" => "https",
            "http" | "ws" => "http",
            _ => return Err(SHAPE.to_owned()),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address of a server holds no user and no password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the address of a server has no `?` and no `#`".to_owned());
        }
        url.set_scheme(scheme).map_err(|()| SHAPE.to_owned())?;
        Ok(Self(url))
    }
}

impl Address {
    /// The address of a path, which begins with a slash.
    pub(crate) fn of(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// Whether what is sent there stays on this machine or is encrypted.
    pub(crate) fn is_confidential(&self) -> bool {
        let is_here = match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        is_here || self.0.scheme() == "https"
    }
}

/// By what a server knows who asks.
#[allow(dead_code, reason = "each command knows its user by one of them")]
pub(crate) enum Credentials {
    /// It does not.
    Nobody,
    /// By a key, which signs each request (NIP-98). It stays here.
    Key(Keys),
    /// By a session token, which is a secret.
    Token(String),
}

/// A server, and who asks it.
pub(crate) struct Remote {
    address: Address,
    credentials: Credentials,
    agent: ureq::Agent,
}

/// What a server answered, in success.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status, 200 to 299.
    pub(crate) status: u16,
    body: Vec<u8>,
}

impl Answer {
    /// The answer as JSON.
    ///
    /// # Errors
    /// `bad_answer` for one that is not of this shape.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| bad_answer(self.status, &error.to_string()))
    }
}

impl Remote {
    /// A server, asked with these credentials. It is not reached yet.
    ///
    /// # Errors
    /// `token_in_the_clear` for a token that would leave this machine without TLS. A signature may: it is
    /// good for one request.
    pub(crate) fn new(address: Address, credentials: Credentials) -> Result<Self, Failure> {
        if matches!(credentials, Credentials::Token(_)) && !address.is_confidential() {
            let message = "a token is not sent over http:// to another machine; use https://";
            return Err(Failure { code: "token_in_the_clear".into(), ..Failure::usage(message) });
        }
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(TO_CONNECT))
            .timeout_send_body(Some(TO_SEND))
            .timeout_recv_response(Some(TO_ANSWER))
            .timeout_recv_body(Some(TO_ANSWER))
            // Neither a text nor a proof goes where the user did not send it.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .build();
        Ok(Self { address, credentials, agent: config.into() })
    }

    /// Reads what is at a path.
    ///
    /// # Errors
    /// As [`Remote::send`].
    pub(crate) fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, path, &[], None)
    }

    /// Sends a body of JSON to a path.
    ///
    /// # Errors
    /// As [`Remote::send`].
    pub(crate) fn post(&self, path: &str, body: &impl Serialize) -> Result<Answer, Failure> {
        let body = serde_json::to_vec(body).expect("bodies have string keys");
        self.send(Method::POST, path, &[("content-type", "application/json")], Some(&body))
    }

    /// Makes a request. The path begins with a slash and is written as it goes over the wire.
    ///
    /// # Errors
    /// `server_not_reached`, `bad_answer`, or what the server says: its own code, with exit code 4 for 404,
    /// 3 for 409 and 1 for all else.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, Failure> {
        let url = self.address.of(path);
        let mut request = http::Request::builder().method(method.clone()).uri(&url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(proof) = self.proof(&url, &method, body) {
            request = request.header("authorization", proof);
        }
        let unsendable = |error: http::Error| Failure::usage(format!("the request cannot be made: {error}"));
        let answered = match body {
            Some(body) => self.agent.run(request.body(body).map_err(unsendable)?),
            None => self.agent.run(request.body(()).map_err(unsendable)?),
        };
        let not_reached = |error: ureq::Error| {
            let message = format!("{} was not reached: {error}", self.address.of(""));
            Failure::new(Outcome::Problems, "server_not_reached", message)
        };
        let mut answered = answered.map_err(not_reached)?;
        let status = answered.status().as_u16();
        let body = answered.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let body = body.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(most) => bad_answer(status, &format!("longer than {most} bytes")),
            error => not_reached(error),
        })?;
        match status {
            200..=299 => Ok(Answer { status, body }),
            300..=399 => Err(bad_answer(status, "it points to another address; name that one")),
            _ => Err(problem(status, &body)),
        }
    }

    /// What shows who asks.
    fn proof(&self, url: &str, method: &Method, body: Option<&[u8]>) -> Option<String> {
        match &self.credentials {
            Credentials::Nobody => None,
            Credentials::Token(token) => Some(format!("Bearer {token}")),
            Credentials::Key(keys) => {
                let digest = body.map(|body| HEXLOWER.encode(&Sha256::digest(body)));
                let tags = [Some(["u", url]), Some(["method", method.as_str()])].into_iter();
                let tags = tags.chain([digest.as_deref().map(|digest| ["payload", digest])]).flatten();
                let tags = tags.map(|tag| Tag::parse(tag).expect("a name and a value"));
                let event = EventBuilder::new(Kind::HttpAuth, "").tags(tags).finalize(keys);
                let event = event.expect("a local key signs").as_json();
                Some(format!("Nostr {}", BASE64.encode(event.as_bytes())))
            }
        }
    }
}

fn bad_answer(status: u16, why: &str) -> Failure {
    let message = format!("the server answered with status {status} and not as expected: {why}");
    Failure::new(Outcome::Problems, "bad_answer", message).with(json!({ "status": status }))
}

/// What a server says about a request that it did not do.
fn problem(status: u16, body: &[u8]) -> Failure {
    #[derive(Deserialize)]
    struct Problem {
        code: String,
        message: String,
        #[serde(default)]
        details: Map<String, Value>,
    }
    let is_code = |code: &str| {
        (1..=64).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    match serde_json::from_slice::<Problem>(body) {
        Ok(Problem { code, message, details }) if is_code(&code) => {
            let outcome = match status {
                404 => Outcome::NotFound,
                409 => Outcome::Conflict,
                _ => Outcome::Problems,
            };
            Failure::new(outcome, code, message).with(Value::Object(details))
        }
        _ => bad_answer(status, "it is no error of this interface"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (given, expected) in [
            ("https://chat.example.com", Some("https://chat.example.com/v1/me")),
            ("wss://chat.example.com/", Some("https://chat.example.com/v1/me")),
            ("ws://127.0.0.1:7787", Some("http://127.0.0.1:7787/v1/me")),
            ("wss://Example.com:443/team/", Some("https://example.com/team/v1/me")),
            ("http://[::1]:1", Some("http://[::1]:1/v1/me")),
            ("chat.example.com", None),
            ("ftp://chat.example.com", None),
            ("https://ann:secret@chat.example.com", None),
            ("https://chat.example.com/?a", None),
            ("https://chat.example.com/#a", None),
            ("https://", None),
            ("", None),
        ] {
            let address = given.parse::<Address>().map(|address| address.of("/v1/me"));
            assert_eq!(address.as_deref().ok(), expected, "{given}: {address:?}");
        }
    }

    #[test]
    fn a_token_stays_on_this_machine_without_tls() {
        for (address, expected) in [
            ("http://localhost:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:80", true),
            ("https://example.com", true),
            ("http://localhost.example", false),
            ("ws://10.0.0.1", false),
            ("http://[::2]", false),
        ] {
            let remote = Remote::new(address.parse().unwrap(), Credentials::Token("voc_x".into()));
            assert_eq!(remote.is_ok(), expected, "{address}");
        }
    }

    #[test]
    fn what_a_server_says_is_a_failure_of_ours() {
        for (status, body, outcome, code) in [
            (404, r#"{"code":"not_found","message":"m","details":{}}"#, Outcome::NotFound, "not_found"),
            (409, r#"{"code":"roster_changed","message":"m"}"#, Outcome::Conflict, "roster_changed"),
            (422, r#"{"code":"ambiguous_label","message":"m"}"#, Outcome::Problems, "ambiguous_label"),
            (422, r#"{"code":"\u001b[2J","message":"m"}"#, Outcome::Problems, "bad_answer"),
            (404, "<html>", Outcome::Problems, "bad_answer"),
        ] {
            let failure = problem(status, body.as_bytes());
            assert_eq!((failure.outcome, &*failure.code), (outcome, code), "{body}");
        }
    }
}
