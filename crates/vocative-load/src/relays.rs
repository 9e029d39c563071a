//! The relays under load, each started on this machine with an empty store and its limits lifted, and
//! ended with the run.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nostr::key::Keys;
use tempfile::TempDir;

/// The store's tests start PostgreSQL in the same way.
#[path = "../../vocative-store/tests/server/mod.rs"]
mod server;

/// A relay that can be put under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Vocative on SQLite.
    Vocative,
    /// Vocative on a PostgreSQL of the run's own.
    VocativePostgres,
    /// nostr-rs-relay on SQLite.
    NostrRs,
    /// rust-nostr's LocalRelay on LMDB, from its crates.
    RustNostrLmdb,
    /// rust-nostr's LocalRelay in memory, from its Python package.
    RustNostrMemory,
}

/// Where the programs are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Programs {
    /// The command `vocative`.
    #[arg(long, default_value = "target/release/vocative", global = true)]
    pub vocative: PathBuf,
    /// The folder in which `cargo xtask peers` has installed the peers.
    #[arg(long, default_value = "target/peers", global = true)]
    pub peers: PathBuf,
}

/// Limits of Vocative that a load from one address would run into. Settings are named in one place.
const LIFTED: &[(&str, &str)] = &[
    ("VOCATIVE_LIMITS_EVENTS_PER_SECOND", "1000000"),
    ("VOCATIVE_LIMITS_REQUESTS_PER_SECOND", "1000000"),
    ("VOCATIVE_LIMITS_CONNECTIONS_PER_ADDRESS", "100000"),
];

/// The relay of rust-nostr's Python package as a program.
const RUST_NOSTR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rust_nostr.py");

/// How long a relay may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running relay.
pub(crate) struct Relay {
    pub kind: Kind,
    pub address: SocketAddr,
    process: Child,
    // What the process stands on goes after it.
    _database: Option<server::Server>,
    _folder: TempDir,
}

impl Kind {
    /// As tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vocative => "vocative, SQLite",
            Self::VocativePostgres => "vocative, PostgreSQL",
            Self::NostrRs => "nostr-rs-relay, SQLite",
            Self::RustNostrLmdb => "rust-nostr LocalRelay, LMDB",
            Self::RustNostrMemory => "rust-nostr LocalRelay, memory",
        }
    }

    /// Whether it is this project's, so that what it fails at fails the run.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Vocative | Self::VocativePostgres)
    }

    /// The program, if it is there.
    pub(crate) fn program(self, programs: &Programs) -> Option<PathBuf> {
        let path = match self {
            Self::Vocative | Self::VocativePostgres => programs.vocative.clone(),
            Self::NostrRs => programs.peers.join("bin/nostr-rs-relay"),
            Self::RustNostrLmdb => programs.peers.join("bin/rust-nostr-relay"),
            Self::RustNostrMemory => programs.peers.join("venv/bin/python"),
        };
        // A Python of an environment is known by its link, which is therefore not followed.
        path.is_file().then(|| std::path::absolute(&path).unwrap_or(path))
    }

    /// What the program says its version is.
    pub(crate) fn version(self, programs: &Programs) -> Option<String> {
        const SDK: &str = "from importlib.metadata import version; print('nostr-sdk', version('nostr-sdk'))";
        let mut command = Command::new(self.program(programs)?);
        match self {
            Self::RustNostrMemory => command.args(["-c", SDK]),
            _ => command.arg("--version"),
        };
        let output = command.output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
    }
}

impl Relay {
    /// Starts a relay and waits until it listens.
    ///
    /// # Errors
    /// A missing program, and what a relay said that ended or did not come to listen.
    pub(crate) fn start(kind: Kind, programs: &Programs, owner: &Keys) -> Result<Self, String> {
        let program = kind.program(programs).ok_or_else(|| format!("{} is not there", kind.name()))?;
        let folder = TempDir::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let database = (kind == Kind::VocativePostgres).then(|| server::Server::start(&[]));
        let port = free_port()?;
        // The relay ends with this program, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program).current_dir(folder.path());
        match kind {
            Kind::Vocative | Kind::VocativePostgres => {
                command.args(["serve", "--listen", &listen(port), "--data"]).arg(folder.path());
                command.args(["--owner", &owner.public_key().to_hex()]);
                command.envs(LIFTED.iter().copied()).env("VOCATIVE_LOG", "warn");
                if let Some(database) = &database {
                    command.args(["--database", &database.url("postgres")]);
                }
            }
            Kind::NostrRs => {
                let config = nostr_rs(folder.path(), port).map_err(|error| error.to_string())?;
                command.arg("--config").arg(config).arg("--db").arg(folder.path());
                command.env("RUST_LOG", "warn");
            }
            Kind::RustNostrLmdb => {
                command.arg(port.to_string()).arg(folder.path());
            }
            Kind::RustNostrMemory => {
                command.args([RUST_NOSTR, &port.to_string()]);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().map_err(|error| format!("setpriv (util-linux): {error}"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut relay = Self { kind, address, process, _database: database, _folder: folder };
        relay.wait()?;
        Ok(relay)
    }

    /// The process that serves.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    fn wait(&mut self) -> Result<(), String> {
        let (line, lines) = mpsc::channel();
        if let Some(output) = self.process.stdout.take() {
            forward(output, line.clone());
        }
        if let Some(output) = self.process.stderr.take() {
            forward(output, line);
        }
        let begin = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let ended = self.process.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begin.elapsed() > PATIENCE {
                let said: Vec<String> = lines.try_iter().collect();
                let end = ended.map_or_else(|| "does not listen".to_owned(), |status| status.to_string());
                return Err(format!("{}: {end}\n{}", self.kind.name(), said.join("\n")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Its store goes with it: there is nothing to close in order.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Passes lines on; whoever does not read what a program says stops it some day.
fn forward(output: impl Read + Send + 'static, line: mpsc::Sender<String>) {
    thread::spawn(move || {
        for text in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody listens once the relay does; it is read on all the same.
            drop(line.send(text));
        }
    });
}

fn listen(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind(listen(0)).and_then(|free| free.local_addr());
    free.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

/// A configuration of nostr-rs-relay: its defaults, which limit neither events nor subscriptions per time.
fn nostr_rs(folder: &Path, port: u16) -> std::io::Result<PathBuf> {
    let path = folder.join("config.toml");
    let address = format!("[info]\nrelay_url = \"ws://127.0.0.1:{port}/\"\n");
    fs::write(&path, format!("{address}[network]\naddress = \"127.0.0.1\"\nport = {port}\n"))?;
    Ok(path)
}
