//! `vocative serve` as a process of its own, which ends with the test at the latest.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::block_in_place;

use crate::support::{Client, Person, soon};

/// What a node is started with.
#[derive(Clone)]
pub struct Setup {
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    descriptors: Option<u32>,
}

impl Setup {
    /// A node of this owner's community, with limits that only tests of limits meet.
    pub fn new(owner: &Person) -> Self {
        let setup = Self { arguments: Vec::new(), variables: Vec::new(), descriptors: None };
        setup
            .with("--owner", &owner.hex())
            .limit("EVENTS_PER_SECOND", 1_000_000)
            .limit("REQUESTS_PER_SECOND", 1_000_000)
            .limit("CONNECTIONS_PER_ADDRESS", 10_000)
    }

    /// A flag with its value.
    pub fn with(mut self, flag: &str, value: &str) -> Self {
        self.arguments.extend([flag.to_owned(), value.to_owned()]);
        self
    }

    /// A flag without a value.
    pub fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    pub fn data(self, folder: &Path) -> Self {
        self.with("--data", folder.to_str().expect("a name in UTF-8"))
    }

    pub fn limit(mut self, name: &str, value: usize) -> Self {
        self.variables.push((format!("VOCATIVE_LIMITS_{name}"), value.to_string()));
        self
    }

    /// At most so many file descriptors.
    pub fn descriptors(mut self, count: u32) -> Self {
        self.descriptors = Some(count);
        self
    }

    /// Starts a node; ends when it listens.
    pub fn start(&self) -> Node {
        block_in_place(|| Node::start(self))
    }
}

/// Runs the node, says its process, and sends it the signals that it reads; kills it when its input ends: then
/// the test has ended in whatever way. The node gets none of the files that this program has inherited.
const KEEPER: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n ${DESCRIPTORS:-$(ulimit -n)}; \
     \"$@\" & node=$!; exec 2>&-; echo $node; \
     while read signal; do case $signal in \
     WAIT) wait $node; echo \"ended $?\"; exit;; *) kill -s $signal $node; echo sent;; esac; done; \
     kill -s KILL $node; wait $node";

enum Said {
    Line(String),
    Ended,
}

/// A node that runs.
pub struct Node {
    pub address: SocketAddr,
    pub process: u32,
    keeper: Child,
    orders: Option<ChildStdin>,
    said: mpsc::Receiver<Said>,
    log: Log,
}

impl Node {
    fn start(setup: &Setup) -> Self {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh", env!("CARGO_BIN_EXE_vocative")]);
        keeper.args(["serve", "--json", "--listen", "127.0.0.1:0"]).args(&setup.arguments);
        keeper.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        keeper.envs(setup.variables.iter().map(|(name, value)| (name, value)));
        keeper.envs(setup.descriptors.map(|count| ("DESCRIPTORS", count.to_string())));
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = keeper.spawn().expect("a shell runs");
        let (say, said) = mpsc::channel();
        let lines = BufReader::new(keeper.stdout.take().expect("piped")).lines();
        let out = say.clone();
        // Who is told may have gone; whoever does not read on would stop the node some day.
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| drop(out.send(Said::Line(line))));
        });
        let log = Log::default();
        let lines = BufReader::new(keeper.stderr.take().expect("piped")).lines();
        let writing = log.clone();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| writing.add(line));
            drop(say.send(Said::Ended));
        });
        let (mut process, mut address) = (None, None);
        while process.is_none() || address.is_none() {
            match said.recv().expect("it says something") {
                Said::Line(line) if line.starts_with('{') => {
                    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
                    let url = said["address"].as_str().and_then(|url| url.strip_prefix("ws://"));
                    address = Some(url.expect("an address").parse().expect("an address"));
                }
                Said::Line(line) => process = Some(line.parse().expect("a process")),
                Said::Ended => panic!("the node did not start: {}", log.all()),
            }
        }
        let (address, process) = (address.expect("said"), process.expect("said"));
        Self { address, process, orders: keeper.stdin.take(), keeper, said, log }
    }

    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    pub async fn connect(&self) -> Client {
        Client::connect(&self.url()).await
    }

    pub async fn connect_as(&self, person: &Person) -> Client {
        let mut client = self.connect().await;
        client.authenticate(person).await;
        client
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: &str) {
        self.order(signal);
    }

    /// Ends it as a failure of its machine would.
    pub fn kill(mut self) {
        self.order("KILL");
        self.order("WAIT");
    }

    /// Waits for its end; the exit code.
    pub fn ended(mut self) -> i32 {
        let said = self.order("WAIT");
        said.strip_prefix("ended ").and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{said}"))
    }

    fn order(&mut self, order: &str) -> String {
        block_in_place(|| {
            let orders = self.orders.as_mut().expect("it is open until the end");
            writeln!(orders, "{order}").expect("the keeper reads");
            loop {
                if let Said::Line(line) = self.said.recv().expect("the keeper answers") {
                    return line;
                }
            }
        })
    }

    /// What it answers to a GET: the status, and the body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.expect("it connects");
            let request =
                format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
            stream.write_all(request.as_bytes()).await.expect("it reads");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("it answers");
            answer
        };
        let answer = soon("an answer", exchange).await;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        (status, body.to_owned())
    }

    /// The value of a counter.
    pub async fn metric(&self, name: &str) -> u64 {
        let (_, metrics) = self.get("/metrics").await;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().expect("a number"))
    }

    /// Its log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A line of `/proc/PID/status` in KiB: `VmRSS`, or `VmHWM` for the most there was.
    pub fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process)).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).expect("a number of kB")
    }

    /// The time that processors have spent on it, in ticks of 10 ms.
    pub fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process)).expect("it runs");
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.orders.take());
        drop(self.keeper.wait());
        if std::thread::panicking() {
            eprintln!("the log of {}:\n{}", self.address, self.log.all());
        }
    }
}

/// What a node logs, line by line.
#[derive(Clone, Default)]
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    count: Arc<watch::Sender<usize>>,
}

impl Log {
    fn add(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
        self.count.send_replace(lines.len());
    }

    fn all(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until a line after so many others holds the text; answers how many there are with it.
    pub async fn says(&self, text: &str, after: usize) -> usize {
        let find = || {
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.iter().skip(after).position(|line| line.contains(text)).map(|at| after + at + 1)
        };
        let mut count = self.count.subscribe();
        soon(text, async {
            loop {
                count.borrow_and_update();
                if let Some(found) = find() {
                    return found;
                }
                count.changed().await.expect("the log is there");
            }
        })
        .await
    }
}
