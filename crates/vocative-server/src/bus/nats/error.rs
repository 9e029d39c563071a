//! Why a bus cannot be used, or not now. Every code is stable, and no text holds a secret.

use std::io;
use std::path::PathBuf;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::{ConnectError, ConnectErrorKind, Event, ServerError};

/// What keeps a node from the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The address cannot be understood. It is not repeated: it may hold a password.
    #[error(
        "the bus address {0}; it is nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before \
         the host, more hosts after commas, and ?creds=FILE, tlsca=FILE, tlscert=FILE or tlskey=FILE at the end"
    )]
    Address(&'static str),
    /// The community's name cannot be one on the bus.
    #[error("a community's name on the bus has 1 to 60 bytes, not {0}")]
    Community(usize),
    /// A file that the address names cannot be read, or holds something else.
    #[error("the bus's {parameter}, {}, cannot be used: {why}", path.display())]
    File {
        /// The parameter of the address.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The server does not accept the credentials, or does not permit what a node needs.
    #[error("the bus refuses this node: {0}; check its credentials and permissions")]
    Refused(String),
    /// The server's certificate is not trusted, or it does not trust ours.
    #[error("no TLS with the bus: {0}; check tls:// and tlsca, tlscert and tlskey")]
    Tls(String),
    /// The server keeps no streams.
    #[error("the bus has no JetStream; start nats-server with --jetstream")]
    NoJetStream,
    /// The community's stream exists and is not one of ours, or another stream takes its subject.
    #[error("the stream {stream} on the bus is taken: {why}; delete it or name the community differently")]
    Stream {
        /// The stream's name.
        stream: String,
        /// What differs.
        why: String,
    },
    /// The server cannot be reached or does not answer. The node goes on trying.
    #[error("the bus is away: {0}")]
    Away(String),
}

impl BusError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "bus_address",
            Self::Community(_) => "bus_community",
            Self::File { .. } => "bus_file",
            Self::Refused(_) => "bus_refused",
            Self::Tls(_) => "bus_tls",
            Self::NoJetStream => "bus_no_jetstream",
            Self::Stream { .. } => "bus_stream",
            Self::Away(_) => "bus_away",
        }
    }

    /// Whether time alone may mend it. Everything else needs a person, and stops a node at its start.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Why there is no connection.
    pub(super) fn from_connect(error: &ConnectError) -> Self {
        let source = std::error::Error::source(error);
        let why = source.map_or_else(|| error.kind().to_string(), ToString::to_string);
        // A failed handshake is invalid data to the reader of the connection.
        let is_handshake = source
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|error| error.kind() == io::ErrorKind::InvalidData);
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => Self::Refused(why),
            ConnectErrorKind::Tls => Self::Tls(why),
            ConnectErrorKind::Io if is_handshake => Self::Tls(why),
            _ => Self::Away(why),
        }
    }

    /// Why there is no stream. `has_jetstream`: the server that we are connected to says so.
    pub(super) fn from_stream(error: &CreateStreamError, stream: &str, has_jetstream: bool) -> Self {
        let away = || Self::Away(error.to_string());
        match error.kind() {
            CreateStreamErrorKind::JetStreamUnavailable if !has_jetstream => Self::NoJetStream,
            CreateStreamErrorKind::JetStream(answer) => match answer.kind() {
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                    Self::NoJetStream
                }
                ErrorCode::STREAM_SUBJECT_OVERLAP | ErrorCode::STREAM_NAME_EXIST => {
                    Self::Stream { stream: stream.to_owned(), why: answer.to_string() }
                }
                _ => away(),
            },
            _ => away(),
        }
    }

    /// Why the connection is of no use any more, if this event says so.
    pub(super) fn from_event(event: &Event) -> Option<Self> {
        match event {
            Event::Disconnected | Event::Closed => Some(Self::Away("the connection has ended".into())),
            Event::ServerError(ServerError::AuthorizationViolation) => {
                Some(Self::Refused("authorization violation".into()))
            }
            // What the server says of a subject that we may not use; nothing else ever answers the request.
            Event::ServerError(ServerError::Other(text)) if text.starts_with("Permissions Violation") => {
                Some(Self::Refused(text.clone()))
            }
            Event::ServerError(ServerError::Other(text)) => Some(Self::Away(text.clone())),
            _ => None,
        }
    }
}
