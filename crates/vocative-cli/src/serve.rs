//! `vocative serve`: a node of a community.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tracing_subscriber::filter::LevelFilter;
use vocative_server::bus::{Bus, Local, Nats};
use vocative_server::settings::{BadSetting, Secret, Settings, Sources};
use vocative_server::{Server, StartError};
use vocative_store::postgres::Postgres;
use vocative_store::sqlite::Sqlite;
use vocative_store::{Store, StoreError};

use crate::context::Context;
use crate::data;
use crate::demo::Demo;
use crate::outcome::{Failure, Outcome};

/// Arguments of `vocative serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = SETTINGS)]
pub(crate) struct Args {
    /// Where to listen [default: 127.0.0.1:7787]; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The folder that holds the community [default: the user's data folder].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A PostgreSQL database for several nodes: postgres://… . A password belongs into the
    /// environment (VOCATIVE_DATABASE) or the file, where other users of the machine do not see it.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// What wakes the other nodes: nats://… .
    #[arg(long, value_name = "URL")]
    bus: Option<String>,
    /// The address that clients use: wss://… . Needed beyond this machine.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The object store of shared sessions: s3://bucket/path, gs://…, az://… or file:///… [default: a
    /// folder beside the store]. Its credentials come from the environment, as its own tools take them.
    #[arg(long, value_name = "URL")]
    objects: Option<String>,
    /// Every node sees the same local folder of objects.
    #[arg(long)]
    shared_folder: bool,
    /// The community's first admin: npub1… or 64 hex digits.
    #[arg(long, value_name = "KEY")]
    owner: Option<String>,
    /// A file of settings, TOML.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve a temporary community with people, agents, a history and a GitHub of its own, and say what to
    /// try. Port 0 unless --listen is given.
    #[arg(long, conflicts_with_all = ["data", "database", "bus", "public_url", "objects", "shared_folder", "owner", "config", "print_config"])]
    demo: bool,
    /// Show the settings that result, secrets hidden, and end.
    #[arg(long)]
    print_config: bool,
    /// Say where it listens as JSON.
    #[arg(long)]
    json: bool,
}

const SETTINGS: &str = "\
Settings come from flags, then the environment, then the file; --print-config shows the outcome.
In the environment they are called VOCATIVE_LISTEN, VOCATIVE_DATA, VOCATIVE_DATABASE, VOCATIVE_BUS,
VOCATIVE_PUBLIC_URL, VOCATIVE_OBJECTS, VOCATIVE_SHARED_FOLDER, VOCATIVE_TRUSTED_PUBLISHERS,
VOCATIVE_OWNER, VOCATIVE_NAME, VOCATIVE_CREATE_CHANNELS, VOCATIVE_OTHER_KINDS, VOCATIVE_LOGIN_ALLOW,
VOCATIVE_REPOSITORIES (lists with commas), VOCATIVE_GITHUB_… and VOCATIVE_LIMITS_… as --print-config
shows them. VOCATIVE_LOG is error, warn, info or debug.
Logs go to standard error: text on a terminal, JSON lines elsewhere; never with messages or keys.
SIGINT and SIGTERM stop it: what it has acknowledged is stored, and clients are told.";

/// Serves until a signal comes.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    if args.demo {
        log(LevelFilter::WARN);
        let listen = args.listen.as_deref().unwrap_or("127.0.0.1:0").parse();
        let listen = listen.map_err(|_| Failure::usage("--listen takes an address and a port"))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(demonstrate(listen, context));
    }
    let settings = settings(&args)?;
    if args.print_config {
        context.out.write_all(settings.shown().as_bytes())?;
        return Ok(Outcome::Done);
    }
    log(LevelFilter::INFO);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(settings, context))
}

fn settings(args: &Args) -> Result<Settings, Failure> {
    let mut sources = Sources::default();
    let data = args.data.as_ref().map(|path| path.display().to_string());
    let flags = [
        ("listen", args.listen.clone()),
        ("data", data),
        ("database", args.database.clone()),
        ("bus", args.bus.clone()),
        ("public_url", args.public_url.clone()),
        ("objects", args.objects.clone()),
        ("shared_folder", args.shared_folder.then(|| "true".to_owned())),
        ("owner", args.owner.clone()),
    ];
    for (name, value) in flags {
        sources.flag(name, value).map_err(bad)?;
    }
    sources.environment(|name| std::env::var(name).ok()).map_err(bad)?;
    if let Some(path) = &args.config {
        let unreadable = |error: std::io::Error| {
            Failure::new(Outcome::Usage, "bad_config", format!("{}: {error}", path.display()))
        };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        sources.file(&path.display().to_string(), &text).map_err(bad)?;
    }
    let mut settings = sources.settings(data::folder()).map_err(bad)?;
    settings.object_options = object_options();
    Ok(settings)
}

/// What the environment says to the object stores' own tools.
fn object_options() -> Vec<(String, Secret)> {
    let is_option = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix));
    let options = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let options = options.filter(|(name, _)| is_option(name));
    let known = options.filter_map(|(name, value)| Some((name.to_lowercase(), value.into_string().ok()?)));
    known.map(|(name, value)| (name, Secret::new(value))).collect()
}

fn bad(error: BadSetting) -> Failure {
    Failure::new(Outcome::Usage, error.code(), error.to_string())
}

/// Logs to standard error from here on.
fn log(unless_set: LevelFilter) {
    let level = std::env::var("VOCATIVE_LOG").ok().and_then(|level| level.parse().ok());
    let level = level.unwrap_or(unless_set);
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        log.with_target(false).init();
    } else {
        log.json().init();
    }
}

async fn serve(settings: Settings, context: &mut Context) -> Result<Outcome, Failure> {
    let store: Arc<dyn Store> = match &settings.database {
        Some(url) => Arc::new(Postgres::open(url.reveal()).await.map_err(|error| of_store(&error))?),
        None => {
            std::fs::create_dir_all(&settings.data)?;
            let file = data::file(&settings.data);
            Arc::new(Sqlite::open(&file).map_err(|error| of_store(&error))?)
        }
    };
    let bus = bus(&settings, &*store).await?;
    let owner = settings.owner;
    // Before the first client can connect, so that no signal is missed.
    let stop = signals()?;
    let server = Server::start(settings, store, bus).await.map_err(|error| of_start(&error))?;
    let address = server.address();
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "the node serves");
    if owner.is_none() {
        tracing::warn!("no owner is set: every key may create channels");
    }
    if context.json {
        writeln!(context.out, "{}", json!({ "address": format!("ws://{address}") }))?;
    } else {
        writeln!(context.out, "listening on ws://{address}")?;
    }
    context.out.flush()?;
    server.run(stop).await?;
    tracing::info!("the node has stopped");
    Ok(Outcome::Done)
}

/// Serves a community that is made up and ends with the process.
async fn demonstrate(listen: SocketAddr, context: &mut Context) -> Result<Outcome, Failure> {
    let demo = Arc::new(Demo::prepare().await?);
    let settings = demo.settings(listen);
    std::fs::create_dir_all(&settings.data)?;
    let store = Sqlite::open(data::file(&settings.data)).map_err(|error| of_store(&error))?;
    let stop = signals()?;
    let server = Server::start(settings, Arc::new(store), Local::new()).await;
    let server = server.map_err(|error| of_start(&error))?;
    let address = server.address();
    let mut serving = tokio::spawn(server.run(stop));
    tokio::select! {
        played = demo.play(address) => played?,
        // A signal before all has happened.
        ended = &mut serving => return finished(ended),
    }
    demo.tell(address, context)?;
    finished(serving.await)
}

fn finished(ended: Result<std::io::Result<()>, tokio::task::JoinError>) -> Result<Outcome, Failure> {
    match ended {
        Ok(served) => served.map(|()| Outcome::Done).map_err(Failure::from),
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

/// What wakes this node, and the others if there are any.
async fn bus(settings: &Settings, store: &dyn Store) -> Result<Arc<dyn Bus>, Failure> {
    let Some(url) = &settings.bus else {
        return Ok(if settings.database.is_some() { Local::beside_others() } else { Local::new() });
    };
    let community = vocative_server::community(store).await.map_err(|error| of_store(&error))?;
    let joined = Nats::connect(url, &community).await;
    Ok(joined.map_err(|error| Failure::new(Outcome::Problems, error.code(), error.to_string()))?)
}

/// Ends at the first signal to stop.
#[cfg(unix)]
fn signals() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ends at the first signal to stop.
#[cfg(not(unix))]
fn signals() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    Ok(async {
        // Without a way to hear of it there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

fn of_store(error: &StoreError) -> Failure {
    Failure::new(Outcome::Problems, error.code(), error.to_string())
}

fn of_start(error: &StartError) -> Failure {
    Failure::new(Outcome::Problems, error.code(), error.to_string())
}
