//! A PostgreSQL of our own: in a temporary folder, on a free port of this machine, gone afterwards.

#![allow(dead_code, unreachable_pub, reason = "shared by test programs that use parts of it")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

const HOW: &str = "\n\
    These tests need the programs of PostgreSQL 15 or newer (initdb, postgres). Get them with\n\
    \x20   apt-get install postgresql        on Debian and Ubuntu\n\
    \x20   brew install postgresql@15        on macOS\n\
    or set VOCATIVE_POSTGRES to the folder that holds them. Nothing of yours is touched: the tests start\n\
    a server in a temporary folder.\n";

/// A running server.
pub struct Server {
    process: Mutex<Child>,
    folder: TempDir,
    programs: PathBuf,
    pub port: u16,
}

/// The server of this test program: started by the first who needs it, stopped by the last.
pub fn shared() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(&[]));
        *running = Arc::downgrade(&server);
        server
    })
}

impl Server {
    /// Starts one, with these settings (`name=value`).
    pub fn start(settings: &[&str]) -> Self {
        let programs = programs().unwrap_or_else(|| panic!("PostgreSQL is missing.{HOW}"));
        let folder = TempDir::new().expect("a folder");
        let owner = owner();
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).expect("root may");
        }
        let mut initdb = as_owner(&programs.join("initdb"), owner);
        initdb.args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C"]);
        initdb.arg("-D").arg(folder.path().join("data")).current_dir(folder.path());
        let made = initdb.output().expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = port.expect("a free port").port();
        let process = Mutex::new(run(&programs, folder.path(), port, settings));
        Self { process, folder, programs, port }
    }

    /// Ends the server as a failure of its machine would, and starts it again on what is on disk.
    pub fn crash(&self) {
        // An immediate shutdown: every process of the server ends without writing anything.
        self.down("QUIT");
        self.up();
    }

    /// Ends the server with this signal: INT in order, QUIT as a failure would.
    pub fn down(&self, signal: &str) {
        end(&mut self.process.lock().unwrap_or_else(PoisonError::into_inner), signal);
    }

    /// Starts the server again on what is on disk.
    pub fn up(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        *process = run(&self.programs, self.folder.path(), self.port, &[]);
    }

    /// Sends a signal to every process of the server: STOP, after which it hangs, and CONT.
    pub fn signal(&self, signal: &str) {
        let pids = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).expect("it runs");
        let postmaster = pids.lines().next().expect("a process").to_owned();
        // First the one that starts others.
        let children = Command::new("pgrep").args(["-P", &postmaster]).output().expect("pgrep (procps)");
        let children = String::from_utf8(children.stdout).expect("numbers");
        let mut kill = Command::new("kill");
        kill.args(["-s", signal, &postmaster]).args(children.lines()).stderr(Stdio::null());
        assert!(kill.status().is_ok(), "kill runs");
    }

    /// A new, empty database, by name.
    pub async fn database(&self) -> String {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("test_{number}");
        execute(&self.url("postgres"), &format!("CREATE DATABASE {name}")).await;
        name
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        end(process, "INT");
    }
}

/// Runs a statement on a connection of its own.
pub async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("it answers");
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it may");
    drop(client);
    drop(connection.await);
}

/// Runs the server and ends it with the signal that it reads, or when this program ends in any way: then
/// its input ends. The server gets none of the files that this program has inherited, locks among them.
const KEEPER: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; \"$@\" & server=$!; read signal; \
     kill -s \"${signal:-INT}\" $server; wait $server";

/// Starts the server and waits for the line in which it says that it is ready.
fn run(programs: &Path, folder: &Path, port: u16, settings: &[&str]) -> Child {
    let mut keeper = as_owner(Path::new("sh"), owner());
    keeper.args(["-c", KEEPER, "sh"]).arg(programs.join("postgres"));
    keeper.arg("-D").arg(folder.join("data")).current_dir(folder);
    keeper.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "log_min_messages=log"]);
    keeper.args(["-c", "max_connections=300", "-c", "unix_socket_directories="]);
    for setting in settings {
        keeper.args(["-c", setting]);
    }
    let mut process = keeper.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell runs");
    let mut said = BufReader::new(process.stderr.take().expect("piped")).lines();
    let mut heard = String::new();
    let is_ready = said.by_ref().map_while(Result::ok).any(|line| {
        heard.push_str(&line);
        line.contains("ready to accept connections")
    });
    assert!(is_ready, "postgres did not start: {heard}");
    // Whoever does not read what the server says would stop it some day.
    std::thread::spawn(move || said.map_while(Result::ok).count());
    process
}

/// Ends a server with this signal.
fn end(process: &mut Child, signal: &str) {
    if let Some(mut input) = process.stdin.take() {
        // A keeper that is gone has no server left.
        drop(writeln!(input, "{signal}"));
    }
    drop(process.wait());
}

/// PostgreSQL does not run as root: then the user `postgres`, which its package makes, runs it.
fn owner() -> Option<(u32, u32)> {
    let id = |args: &[&str]| {
        let output = Command::new("id").args(args).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let ids = id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]));
    Some(ids.unwrap_or_else(|| panic!("This is root, and there is no user postgres.{HOW}")))
}

fn as_owner(program: &Path, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = owner {
        command.uid(user).gid(group);
    }
    command
}

/// The folder that holds the programs: named, in the path, or where Debian puts the newest.
fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("VOCATIVE_POSTGRES").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|found| found.flatten().map(|entry| entry.path().join("bin")).collect())
        .unwrap_or_default();
    debian.sort();
    let mut places = named.into_iter().chain(std::env::split_paths(&path)).chain(debian.into_iter().rev());
    places.find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}
