//! One node: it listens, serves, and stops without losing what it has acknowledged (section 6).

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use nostr::types::RelayUrl;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use vocative_store::{Store, StoreError};

use crate::api::{self, Api};
use crate::bus::Bus;
use crate::listener::{Door, Peer};
use crate::people::{BadPeopleSettings, People, machine_clock};
use crate::rebuild::Rebuilding;
use crate::relay::{MESSAGE, Readiness, Relay};
use crate::sessions::objects::{BadObjects, Objects};
use crate::sessions::shared::Sessions;
use crate::settings::Settings;

/// How long connections have to end when the node stops.
const GRACE: Duration = Duration::from_secs(10);
/// How often what need not be remembered is forgotten.
const TIDY: Duration = Duration::from_secs(60);

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The public address is none.
    #[error("`{given}` is no address of a relay: it begins with ws:// or wss://")]
    PublicUrl {
        /// What was given.
        given: String,
    },
    /// Listening beyond this machine without an address that clients can prove they are connected to.
    #[error("listening on {address} needs --public-url, the address that clients use")]
    NoPublicUrl {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store.
    #[error(transparent)]
    Objects(#[from] BadObjects),
    /// The settings of logins.
    #[error(transparent)]
    People(#[from] BadPeopleSettings),
}

impl StartError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "cannot_listen",
            Self::PublicUrl { .. } => "bad_public_url",
            Self::NoPublicUrl { .. } => "no_public_url",
            Self::Store(error) => error.code(),
            Self::Objects(error) => error.code(),
            Self::People(error) => error.code(),
        }
    }
}

/// A node that listens.
pub struct Server {
    listener: TcpListener,
    node: Arc<Node>,
    address: SocketAddr,
}

struct Node {
    relay: Relay,
    api: Arc<Api>,
    metrics: Option<PrometheusHandle>,
}

impl Server {
    /// Starts a node on a store. Clients that connect are served once [`Server::run`] runs.
    ///
    /// # Errors
    /// Why it cannot start.
    pub async fn start(
        settings: Settings,
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
    ) -> Result<Self, StartError> {
        let url = match &settings.public_url {
            Some(given) => {
                let no_url = |_| StartError::PublicUrl { given: given.clone() };
                Some(RelayUrl::parse(given).map_err(no_url)?)
            }
            None if settings.listen.ip().is_loopback() => None,
            None => return Err(StartError::NoPublicUrl { address: settings.listen }),
        };
        let failed = |error| StartError::Listen { address: settings.listen, error };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // One recorder for the process: a second node in it records with the first.
        let metrics = PrometheusBuilder::new().install_recorder().ok();
        let sessions = Sessions::new(Arc::clone(&store), Objects::open(&settings)?);
        let people = People::new(&settings, Arc::clone(&store), machine_clock())?;
        let relay = Relay::start(settings, url, address.port(), store, bus).await?;
        let api = Arc::new(Api {
            node: relay.state(),
            url: relay.url(),
            people,
            sessions,
            rebuilding: Rebuilding::default(),
        });
        Ok(Self { listener, node: Arc::new(Node { relay, api, metrics }), address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends; then takes no more connections, lets the open ones finish what they are
    /// doing, and ends.
    ///
    /// # Errors
    /// When listening fails.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let Self { listener, node, .. } = self;
        let router = Router::new()
            .route("/", any(root))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(Arc::clone(&node))
            .merge(api::router(Arc::clone(&node.api)))
            .fallback(api::unknown_path)
            .layer(middleware::from_fn(working));
        let (stopping, stopped) = watch::channel(false);
        let at_stop = Arc::clone(&node);
        let graceful = async move {
            stop.await;
            at_stop.relay.stop();
            stopping.send_replace(true);
        };
        let tidying = tokio::spawn(tidy(Arc::downgrade(&node)));
        let api = Arc::clone(&node.api);
        let rebuilding = tokio::spawn(async move { api.rebuilding.run(Arc::clone(&api.node.store)).await });
        let service = router.into_make_service_with_connect_info::<Peer>();
        let door = Door::new(listener, node.relay.connections_per_address());
        let serving = axum::serve(door, service).with_graceful_shutdown(graceful);
        let ending = async {
            serving.await?;
            // What speaks WebSocket has left the hands of the HTTP server.
            node.relay.stopped().await;
            Ok(())
        };
        let result = tokio::select! {
            result = ending => result,
            () = late(stopped) => {
                tracing::warn!("some connections did not end in time");
                Ok(())
            }
        };
        tidying.abort();
        rebuilding.abort();
        result
    }
}

/// Ends when connections have had their time after the node began to stop.
async fn late(mut stopped: watch::Receiver<bool>) {
    if stopped.wait_for(|is_stopped| *is_stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(GRACE).await;
}

async fn tidy(node: std::sync::Weak<Node>) {
    loop {
        tokio::time::sleep(TIDY).await;
        let Some(node) = node.upgrade() else { return };
        node.relay.tidy();
        if let Err(error) = node.api.people.tidy().await {
            tracing::warn!(%error, "what has expired was not forgotten");
        }
        if let Some(metrics) = &node.metrics {
            metrics.run_upkeep();
        }
    }
}

/// While a request is worked on, its connection waits.
async fn working(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    let _work = peer.works();
    next.run(request).await
}

/// A WebSocket of the relay, or what the relay says about itself.
async fn root(
    State(node): State<Arc<Node>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    if wants_information(&parts.headers) {
        let headers = [
            (header::CONTENT_TYPE, "application/nostr+json"),
            (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "*"),
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET"),
        ];
        return (headers, node.relay.information()).into_response();
    }
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => {
            upgrade.max_message_size(MESSAGE).max_frame_size(MESSAGE).on_upgrade(move |socket| async move {
                peer.stays();
                node.relay.serve(socket, peer.address.ip()).await;
            })
        }
        Err(_) => {
            let says = "This is a Nostr relay: connect a client to it by WebSocket.\n";
            (StatusCode::UPGRADE_REQUIRED, says).into_response()
        }
    }
}

pub(crate) fn wants_information(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/nostr+json")
    })
}

async fn ready(State(node): State<Arc<Node>>) -> Response {
    match node.relay.readiness().await {
        Readiness::Ready => "ready\n".into_response(),
        Readiness::Degraded => "degraded: the bus is away\n".into_response(),
        Readiness::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
        Readiness::Failing(error) => {
            let says = json!({ "code": error.code(), "message": "the store does not answer", "details": {} });
            (StatusCode::SERVICE_UNAVAILABLE, Json(says)).into_response()
        }
    }
}

async fn metrics(State(node): State<Arc<Node>>) -> Response {
    match &node.metrics {
        Some(metrics) => metrics.render().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
