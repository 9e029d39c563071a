//! Proof that a key is at the other end of a connection (NIP-42).

use nostr::event::{Event, Kind};
use nostr::nips::nip42::is_valid_auth_event;
use nostr::types::RelayUrl;
use url::{Host, Position, Url};
use vocative_store::Timestamp;

use super::protocol::Refused;

/// How far the time of a proof may be off, in seconds.
const TOLERANCE: u64 = 10 * 60;

/// Where clients say that they are connected to.
#[derive(Clone, Debug)]
pub(crate) enum PublicUrl {
    /// As it was set.
    Set(RelayUrl),
    /// Not set: any name of this machine, with the port that is listened on.
    Loopback {
        /// The port.
        port: u16,
    },
}

impl PublicUrl {
    fn is(&self, named: &RelayUrl) -> bool {
        match self {
            Self::Set(url) => named.as_str_without_trailing_slash() == url.as_str_without_trailing_slash(),
            Self::Loopback { port } => {
                let authority = named.as_str_without_trailing_slash().strip_prefix("ws://");
                let named_port = authority.and_then(|rest| rest.rsplit_once(':'));
                let is_port = match named_port {
                    Some((_, digits)) => digits == port.to_string(),
                    None => *port == 80,
                };
                named.is_localhost() && is_port
            }
        }
    }

    /// Whether clients reach this node by TLS.
    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Set(url) if url.as_str_without_trailing_slash().starts_with("wss:"))
    }

    /// Whether a page of this origin, as a browser writes it, is one of this node's.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        let Ok(named) = Url::parse(origin) else { return false };
        match self.address("") {
            Some(own) => Url::parse(&own).is_ok_and(|own| own.origin() == named.origin()),
            None => self.names(origin, "/"),
        }
    }

    /// The address of a path of this node over HTTP; on this machine by the name of the `Host` that a
    /// browser uses, if it is one of this machine's.
    pub(crate) fn http(&self, host: Option<&str>, path: &str) -> String {
        let by_host = || host.map(|host| format!("http://{host}{path}")).filter(|url| self.names(url, path));
        match self {
            Self::Set(_) => self.address(path).unwrap_or_default(),
            Self::Loopback { port } => by_host().unwrap_or_else(|| format!("http://127.0.0.1:{port}{path}")),
        }
    }

    /// The address of a path as it was set: ws becomes http, wss https.
    fn address(&self, path: &str) -> Option<String> {
        let Self::Set(url) = self else { return None };
        let rest = url.as_str_without_trailing_slash().strip_prefix("ws")?;
        Some(format!("http{rest}{path}"))
    }

    /// Whether a client that names this address means a path of this node, over HTTP.
    pub(crate) fn names(&self, named: &str, path: &str) -> bool {
        let Ok(named) = Url::parse(named) else { return false };
        match self {
            Self::Set(_) => {
                let address = self.address(path).and_then(|address| Url::parse(&address).ok());
                address.is_some_and(|address| address == named)
            }
            Self::Loopback { port } => {
                let is_here = match named.host() {
                    Some(Host::Domain(name)) => name == "localhost",
                    Some(Host::Ipv4(address)) => address.is_loopback(),
                    Some(Host::Ipv6(address)) => address.is_loopback(),
                    None => false,
                };
                let has_port = named.port_or_known_default() == Some(*port);
                let is_bare = named.username().is_empty() && named.password().is_none();
                let named_path = &named[Position::BeforePath..Position::AfterQuery];
                is_here && has_port && is_bare && named.scheme() == "http" && named_path == path
            }
        }
    }
}

/// Checks a proof whose signature has been verified, against the challenge of its connection.
pub(crate) fn check(proof: &Event, url: &PublicUrl, challenge: &str, now: Timestamp) -> Result<(), Refused> {
    if proof.kind != Kind::Authentication {
        return Err(Refused::invalid("AUTH takes an event of kind 22242"));
    }
    if proof.created_at.as_secs().abs_diff(now.as_secs()) > TOLERANCE {
        return Err(Refused::invalid("created_at is more than 10 minutes off"));
    }
    let relays = proof.tags.iter().filter(|tag| tag.kind() == "relay").filter_map(|tag| tag.content());
    let mut named = relays.filter_map(|relay| RelayUrl::parse(relay).ok());
    let Some(named) = named.next().filter(|named| url.is(named)) else {
        return Err(Refused::invalid("the `relay` tag does not name this relay"));
    };
    if !is_valid_auth_event(proof, &named, challenge) {
        return Err(Refused::invalid("the `challenge` tag does not hold the challenge of this connection"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nostr::event::{EventBuilder, FinalizeEvent, Kind, Tag};
    use nostr::key::Keys;
    use nostr::types::{RelayUrl, Timestamp as At};
    use vocative_store::Timestamp;

    use super::{PublicUrl, check};

    #[test]
    fn a_page_is_of_this_origin_or_another() {
        let set = PublicUrl::Set(RelayUrl::parse("wss://chat.example.com/relay").expect("a URL"));
        let loopback = PublicUrl::Loopback { port: 7787 };
        let table = [
            (&set, "https://chat.example.com", true),
            (&set, "https://chat.example.com:443", true),
            (&set, "http://chat.example.com", false),
            (&set, "https://chat.example.com.evil.net", false),
            (&set, "https://example.com", false),
            (&set, "null", false),
            (&loopback, "http://127.0.0.1:7787", true),
            (&loopback, "http://localhost:7787", true),
            (&loopback, "http://localhost:8000", false),
            (&loopback, "https://localhost:7787", false),
            (&loopback, "http://evil.net:7787", false),
        ];
        for (url, origin, expected) in table {
            assert_eq!(url.is_origin(origin), expected, "{origin}");
        }
        assert_eq!(set.http(Some("evil.net"), "/v1/me"), "https://chat.example.com/relay/v1/me");
        assert_eq!(loopback.http(Some("localhost:7787"), "/v1/me"), "http://localhost:7787/v1/me");
        for host in [None, Some("evil.net:7787"), Some("localhost:7787@evil.net")] {
            assert_eq!(loopback.http(host, "/v1/me"), "http://127.0.0.1:7787/v1/me", "{host:?}");
        }
    }

    #[test]
    fn a_proof_is_for_this_relay_this_connection_and_now() {
        let keys = Keys::generate();
        let set = PublicUrl::Set(RelayUrl::parse("wss://chat.example.com/").expect("a URL"));
        let loopback = PublicUrl::Loopback { port: 7787 };
        let table = [
            (&set, "wss://chat.example.com", "c", 22_242, 1000, true),
            (&set, "wss://Chat.Example.com:443/", "c", 22_242, 1600, true),
            (&set, "wss://chat.example.com", "c", 22_242, 1601, false),
            (&set, "wss://chat.example.com", "c", 22_242, 399, false),
            (&set, "wss://chat.example.com", "d", 22_242, 1000, false),
            (&set, "wss://chat.example.com", "c", 1, 1000, false),
            (&set, "wss://chat.example.com.evil.net", "c", 22_242, 1000, false),
            (&set, "ws://chat.example.com", "c", 22_242, 1000, false),
            (&set, "wss://chat.example.com/other", "c", 22_242, 1000, false),
            (&set, "", "c", 22_242, 1000, false),
            (&loopback, "ws://localhost:7787/", "c", 22_242, 1000, true),
            (&loopback, "ws://127.0.0.1:7787", "c", 22_242, 1000, true),
            (&loopback, "ws://[::1]:7787", "c", 22_242, 1000, true),
            (&loopback, "ws://127.0.0.1:7788", "c", 22_242, 1000, false),
            (&loopback, "ws://example.com:7787", "c", 22_242, 1000, false),
        ];
        for (url, relay, challenge, kind, at, expected) in table {
            let tags =
                [["relay", relay], ["challenge", challenge]].map(|tag| Tag::parse(tag).expect("a tag"));
            let proof = EventBuilder::new(Kind::from(kind), "").tags(tags).custom_created_at(At::from(at));
            let proof = proof.finalize(&keys).expect("it signs");
            let checked = check(&proof, url, "c", Timestamp::from_secs(1000));
            assert_eq!(checked.is_ok(), expected, "{relay} {challenge} {kind} {at}: {checked:?}");
        }
    }
}
