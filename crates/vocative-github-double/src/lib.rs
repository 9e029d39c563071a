//! A double of GitHub: its two ways of logging in, and what of its API Vocative asks.
//!
//! It answers as GitHub's documentation says GitHub does, the unhandy parts included: errors of the token
//! endpoint come with status 200, a private repository looks like none, a moved one redirects. Whoever
//! starts it decides who exists, who consents, what fails, and what time it is; nothing here sleeps. It
//! protects nothing and belongs on loopback only.

mod api;
mod control;
mod page;
mod web;
mod world;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use control::{Asked, Outage, Repository, Rule};
use world::World;

/// An app that is registered with the double.
#[derive(Clone, Debug)]
pub struct App {
    /// Its public id.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// What kind of app it is.
    pub kind: AppKind,
    /// Whether the device flow is enabled for it.
    pub device_flow: bool,
    /// The only address that the web flow returns to; any on loopback if absent.
    pub callback: Option<String>,
}

/// The kinds of apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppKind {
    /// A GitHub App: tokens expire after eight hours and are refreshed; no scopes.
    App,
    /// An OAuth app: tokens do not expire; scopes.
    OAuth,
}

impl App {
    /// A GitHub App with the device flow.
    pub fn github_app() -> Self {
        Self {
            client_id: "Iv23double".to_owned(),
            client_secret: "secret-of-the-double".to_owned(),
            kind: AppKind::App,
            device_flow: true,
            callback: None,
        }
    }

    /// An OAuth app with the device flow.
    pub fn oauth_app() -> Self {
        Self { kind: AppKind::OAuth, ..Self::github_app() }
    }
}

/// A running double. It ends when this is dropped.
#[derive(Debug)]
pub struct Double {
    address: SocketAddr,
    world: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    /// Where it is reached.
    pub(crate) base: String,
}

impl Shared {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Double {
    /// The path of the API, as GitHub Enterprise Server has it.
    pub const API: &str = "/api/v3";

    /// Starts a double on a free port of this machine, with nobody in it.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(app: App) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let base = format!("http://{address}");
        let world = Arc::new(Shared { world: Mutex::new(World::new(app)), base });
        let router = Router::new()
            .merge(web::routes())
            .nest(Self::API, api::routes())
            .layer(middleware::from_fn_with_state(Arc::clone(&world), gate))
            .with_state(Arc::clone(&world));
        let serving = tokio::spawn(async move {
            // It ends with its task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, world, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its web pages.
    pub fn web(&self) -> String {
        self.world.base.clone()
    }

    /// The address of its API.
    pub fn api(&self) -> String {
        format!("{}{}", self.world.base, Self::API)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Writes down what is asked, and lets it through unless something is to fail.
async fn gate(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let path = request.uri().path();
    let outcome = {
        let mut world = shared.world();
        world.note(request.method().as_str(), path, authorization);
        world.failing(path)
    };
    match outcome {
        None if path.starts_with(Double::API) && !headers.contains_key(header::USER_AGENT) => {
            (StatusCode::FORBIDDEN, "a request needs a User-Agent").into_response()
        }
        None => next.run(request).await,
        Some(Outage::Status(status)) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE).into_response()
        }
        Some(Outage::Hang) => std::future::pending().await,
        Some(Outage::CutOff) => {
            // The head promises more than comes.
            let parts = [Ok("{"), Err(io::Error::from(io::ErrorKind::ConnectionReset))];
            let body = Body::from_stream(futures_util::stream::iter(parts));
            ([(header::CONTENT_LENGTH, "1000"), (header::CONTENT_TYPE, "application/json")], body)
                .into_response()
        }
        Some(Outage::PrimaryLimit { reset }) => {
            let headers = [
                ("x-ratelimit-limit", "5000".to_owned()),
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-reset", reset.to_string()),
            ];
            (StatusCode::FORBIDDEN, headers, r#"{"message":"API rate limit exceeded"}"#).into_response()
        }
        Some(Outage::SecondaryLimit { retry_after }) => {
            let headers = [("retry-after", retry_after.to_string())];
            let says = r#"{"message":"You have exceeded a secondary rate limit"}"#;
            (StatusCode::TOO_MANY_REQUESTS, headers, says).into_response()
        }
        Some(Outage::Body(body)) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
    }
}
