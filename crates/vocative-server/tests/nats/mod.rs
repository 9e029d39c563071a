//! A NATS server of our own: in a temporary folder, on a port of this machine, gone afterwards.

#![allow(dead_code, unreachable_pub, reason = "shared by test programs that use parts of it")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

const HOW: &str = "\n\
    These tests need nats-server 2.9 or newer. Get it with\n\
    \x20   apt-get install nats-server       on Debian and Ubuntu\n\
    \x20   brew install nats-server          on macOS\n\
    or set VOCATIVE_NATS to the program. Nothing of yours is touched: the tests start a server in a\n\
    temporary folder.\n";

/// A server, running or not.
pub struct Server {
    process: Option<Process>,
    folder: TempDir,
    arguments: Vec<String>,
    pub port: u16,
}

impl Server {
    /// Starts one with JetStream, reachable by everyone on this machine.
    pub fn start() -> Self {
        Self::with(&["--jetstream"], "")
    }

    /// Starts one with these arguments and this configuration. `FOLDER` in it is the server's own folder.
    pub fn with(arguments: &[&str], configuration: &str) -> Self {
        let mut server = Self::prepared(arguments);
        let configuration = configuration.replace("FOLDER", &server.folder().to_string_lossy());
        std::fs::write(server.folder().join("nats.conf"), configuration).expect("a temporary folder");
        // Outside the ports of outgoing connections, one of which would take the port while the server is down.
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let first = u16::try_from(std::process::id() % 500).expect("it is small") * 20;
        for _ in 0..200 {
            server.port = 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
            match Process::start(server.folder(), server.port, &server.arguments) {
                Ok(process) => {
                    server.process = Some(process);
                    return server;
                }
                Err(said) if said.contains("address already in use") => {}
                Err(said) => panic!("nats-server did not start: {said}"),
            }
        }
        panic!("no port is free");
    }

    /// One that does not run yet, on a port that nobody listens on.
    pub fn absent() -> Self {
        let mut server = Self::start();
        server.kill();
        server
    }

    fn prepared(arguments: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let arguments = arguments.iter().copied().map(str::to_owned).collect();
        Self { process: None, folder, arguments, port: 0 }
    }

    /// Starts it again on its port and folder.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let started = Process::start(self.folder.path(), self.port, &self.arguments);
        self.process = Some(started.unwrap_or_else(|said| panic!("nats-server did not start: {said}")));
    }

    /// Ends it as a failure of its machine would.
    pub fn kill(&mut self) {
        self.end("KILL");
    }

    /// Ends it in order.
    pub fn stop(&mut self) {
        self.end("TERM");
    }

    /// Stops it in its tracks: connections stay open and nothing answers.
    pub fn pause(&mut self) {
        self.running().signal("STOP");
    }

    /// Lets it go on after [`Server::pause`].
    pub fn resume(&mut self) {
        self.running().signal("CONT");
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The folder for its data, and for what a test gives it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn running(&mut self) -> &mut Process {
        self.process.as_mut().expect("it runs")
    }

    fn end(&mut self, signal: &str) {
        let mut process = self.process.take().expect("it runs");
        process.signal(signal);
        process.wait();
    }
}

/// The server's process, and the shell that keeps it.
struct Process {
    keeper: Child,
    orders: Option<ChildStdin>,
    done: Lines<BufReader<ChildStdout>>,
}

/// Runs the server, sends it the signals that it reads, and kills it when its input ends: then the test has
/// ended in whatever way. The server gets none of the files that this program has inherited, and the keeper
/// lets go of the server's messages, so that they end where it does.
const KEEPER: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; \"$@\" >/dev/null & server=$!; exec 2>&-; \
     while read signal; do kill -s $signal $server; \
     case $signal in KILL|TERM) wait $server;; esac; echo $signal; done; \
     kill -s KILL $server; wait $server";

impl Process {
    /// Starts it and waits for the line in which it says that it is ready, or returns what it said instead.
    fn start(folder: &Path, port: u16, arguments: &[String]) -> Result<Self, String> {
        let program = program().unwrap_or_else(|| panic!("nats-server is missing.{HOW}"));
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(program).args([
            "--addr",
            "127.0.0.1",
            "--port",
            &port.to_string(),
        ]);
        keeper.arg("--store_dir").arg(folder.join("data")).arg("--config").arg(folder.join("nats.conf"));
        keeper.args(arguments).current_dir(folder);
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = keeper.spawn().expect("a shell runs");
        let mut said = BufReader::new(keeper.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let done = BufReader::new(keeper.stdout.take().expect("piped")).lines();
        let mut process = Self { orders: keeper.stdin.take(), done, keeper };
        let mut heard = String::new();
        let is_ready = said.by_ref().any(|line| {
            heard.push_str(&line);
            heard.push('\n');
            line.contains("Server is ready")
        });
        if is_ready {
            // Whoever does not read what the server says would stop it some day.
            std::thread::spawn(move || said.count());
            Ok(process)
        } else {
            process.wait();
            Err(heard)
        }
    }

    /// Sends a signal, and returns when it is sent; for one that ends the server, when that has ended.
    fn signal(&mut self, signal: &str) {
        let orders = self.orders.as_mut().expect("it is open until the end");
        writeln!(orders, "{signal}").expect("the keeper reads");
        let done = self.done.next().expect("the keeper answers").expect("it is a line");
        assert_eq!(done, signal);
    }

    fn wait(&mut self) {
        drop(self.orders.take());
        drop(self.keeper.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The program: named, in the path, or where Debian puts it.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("VOCATIVE_NATS") {
        return Some(PathBuf::from(named)).filter(|program| program.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    places.map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}
