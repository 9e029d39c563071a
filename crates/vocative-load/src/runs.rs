//! The measurements: each starts every relay anew on an empty store, one after another, with the same
//! signed events.

use std::rc::Rc;
use std::time::Duration;
use std::{fmt, iter};

use clap::Parser;
use tokio::time::sleep;

use crate::cast::{Batch, Cast, Shape};
use crate::connection;
use crate::durability;
use crate::fanout::{self, Memory, Subscription};
use crate::ingest::{self, Outcome, Plan, Run};
use crate::relays::{Kind, Programs, Relay};
use crate::report::{self, Report};
use crate::schedule::Schedule;
use crate::{Cli, Mode};

/// Not counted at the start of a run: caches fill and files grow for the first time.
const WARM_UP: Duration = Duration::from_secs(2);

/// Below this share of what was due, a relay has fallen behind, and is not tried at higher rates.
const KEPT_UP: f64 = 0.95;

/// Events in.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Ingest {
    /// Connections that publish.
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Open loop: events per second; several rates are tried in turn.
    #[arg(long, value_delimiter = ',', conflicts_with = "in_flight", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Vec<u32>,
    /// Closed loop: events in flight on each connection.
    #[arg(long, default_value_t = 32)]
    in_flight: usize,
    /// Seconds that are measured.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Events signed for a closed loop; it ends early when they are used up.
    #[arg(long, default_value_t = 300_000)]
    events: usize,
}

/// Events out.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Fanout {
    /// Subscribers of the channel.
    #[arg(long, default_value_t = 1_000)]
    subscribers: usize,
    /// Connections that they share.
    #[arg(long, default_value_t = 1_000)]
    connections: usize,
    /// Events per second; several rates are tried in turn.
    #[arg(long, value_delimiter = ',', default_value = "10,50,100", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Vec<u32>,
    /// Seconds of publishing.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Many connections.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Connections {
    /// Connections that subscribe.
    #[arg(long, default_value_t = 1_000)]
    connections: usize,
    /// Subscriptions in total.
    #[arg(long, default_value_t = 10_000)]
    subscriptions: usize,
    /// Events per second beside.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Seconds of publishing.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

/// Synced or not.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Durability {
    /// Events, published one at a time.
    #[arg(long, default_value_t = 50)]
    events: usize,
}

/// What all measurements of one call share.
struct Bench {
    relays: Vec<Kind>,
    programs: Programs,
    shape: Shape,
    report: Report,
    /// Whether this project's relays did what they must.
    sound: bool,
}

/// Runs what the command line asks for; answers whether this project's relays did what they must.
///
/// # Errors
/// What kept a measurement from being made at all.
pub(crate) async fn all(cli: Cli) -> Result<bool, String> {
    let mut bench = Bench::new(&cli)?;
    let modes = cli.mode.map_or_else(everything, |mode| vec![mode]);
    for mode in modes {
        match mode {
            Mode::Ingest(ingest) if ingest.rate.is_empty() => bench.closed(&ingest).await?,
            Mode::Ingest(ingest) => bench.open(&ingest).await?,
            Mode::Fanout(fanout) => bench.fanout(&fanout).await?,
            Mode::Connections(connections) => bench.connections(&connections).await?,
            Mode::Durability(durability) => bench.durability(&durability).await?,
        }
    }
    if let Some(path) = cli.record {
        bench.report.write(&path)?;
        println!("{}", path.display());
    }
    Ok(bench.sound)
}

/// The whole record, as one would ask for its parts.
const EVERYTHING: [&[&str]; 5] = [
    &["durability"],
    &["ingest"],
    &["ingest", "--rate", "1000,2500,5000,7500,10000"],
    &["fanout"],
    &["connections"],
];

fn everything() -> Vec<Mode> {
    let parse = |arguments: &&[&str]| Cli::parse_from(iter::once("load").chain(arguments.iter().copied()));
    EVERYTHING.iter().filter_map(|arguments| parse(arguments).mode).collect()
}

impl Bench {
    fn new(cli: &Cli) -> Result<Self, String> {
        let (known, programs) = (<Kind as clap::ValueEnum>::value_variants(), &cli.programs);
        let mut report = Report::default();
        report.paragraph("# Relays under load");
        report.paragraph(&format!("Machine: {}.", report::machine()));
        let wanted = if cli.relays.is_empty() { known } else { &cli.relays };
        let (relays, missing): (Vec<Kind>, Vec<Kind>) =
            wanted.iter().partition(|kind| kind.program(programs).is_some());
        if relays.is_empty() || (!missing.is_empty() && !cli.relays.is_empty()) {
            let names: Vec<&str> = missing.iter().map(|kind| kind.name()).collect();
            return Err(format!(
                "not installed: {}; `cargo xtask peers` installs the peers, and \
                 `cargo build --release -p vocative-cli` makes vocative",
                names.join("; ")
            ));
        }
        let versions = relays.iter().map(|kind| {
            let version = kind.version(programs).unwrap_or_else(|| "unknown version".into());
            format!("- {}: {version}", kind.name())
        });
        let absent = missing.iter().map(|kind| format!("- {}: not installed", kind.name()));
        report.paragraph(&versions.chain(absent).collect::<Vec<_>>().join("\n"));
        let Shape { writers, channels, text, mentions, people } = cli.shape;
        if writers == 0 || channels == 0 || people < mentions.max(1) {
            return Err("there must be a writer, a channel, and people for every mention".into());
        }
        report.paragraph(&format!(
            "Events: kind 9, {text} bytes of text, one `h` tag ({channels} channels) and {mentions} `p` tags (of \
             {people} keys), signed by {writers} keys before the clock starts. Open loop: an event's time counts from \
             when it was due, whether or not it could be sent then; without an answer it counts with what it has \
             waited. Closed loop: from when it was sent. The first {} s are not counted. Times are p50 / p99 / max in \
             ms; CPU in percent of one core, the generator's and that of all that the relay consists of.",
            WARM_UP.as_secs()
        ));
        Ok(Self { relays, programs: programs.clone(), shape: cli.shape, report, sound: true })
    }

    /// Starts a relay and lets the writers in. A peer that fails is written down; ours ends the run.
    async fn start(&mut self, kind: Kind, cast: &Cast) -> Result<Option<Relay>, String> {
        let start = async {
            let relay = Relay::start(kind, &self.programs, &cast.owner)?;
            let mut socket = connection::open(relay.address).await?;
            connection::publish(&mut socket, &cast.set_up()?).await?;
            Ok(relay)
        };
        let started = start.await;
        self.or_written_down(kind, started)
    }

    fn or_written_down<T>(&mut self, kind: Kind, result: Result<T, String>) -> Result<Option<T>, String> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if kind.is_ours() => Err(format!("{}: {error}", kind.name())),
            Err(error) => {
                let line = error.lines().next().unwrap_or_default();
                self.report.row(&[kind.name().to_owned(), format!("not measured: {line}")]);
                Ok(None)
            }
        }
    }

    fn sign(&mut self, cast: &Cast, count: usize) -> Result<Rc<Batch>, String> {
        let batch = cast.messages(count)?;
        let seconds = batch.signing.as_secs_f64();
        eprintln!("signed {count} events of {} bytes in {seconds:.1} s", batch.frame_bytes());
        Ok(Rc::new(batch))
    }

    /// Adds a row; a fault of this project's relays fails the run.
    fn row(&mut self, kind: Kind, mut cells: Vec<String>, fault: Option<String>) {
        cells.insert(0, kind.name().to_owned());
        self.sound &= fault.is_none() || !kind.is_ours();
        cells.push(fault.unwrap_or_else(|| "none".to_owned()));
        self.report.row(&cells);
    }

    async fn closed(&mut self, options: &Ingest) -> Result<(), String> {
        let cast = Cast::new(self.shape);
        let batch = self.sign(&cast, options.events)?;
        let plan = plan(options.connections, options.seconds);
        let title = format!(
            "Ingest, closed loop: {} connections × {} in flight, {} s, frames of {} bytes",
            options.connections,
            options.in_flight,
            options.seconds,
            batch.frame_bytes()
        );
        self.report
            .table(&title, &["relay", "events/s acknowledged", "OK", "generator", "relay CPU", "faults"]);
        let mut costs = None;
        for kind in self.relays.clone() {
            let Some(relay) = self.start(kind, &cast).await? else { continue };
            let sockets = ingest::connect(relay.address, plan).await?;
            let run = Run::new(batch.clone());
            let mut outcome = ingest::closed_loop(sockets, run, options.in_flight, plan).await;
            if kind == Kind::VocativePostgres {
                costs = Some(Costs::of(&outcome));
            }
            let dry = if outcome.ran_dry { " (all events used)" } else { "" };
            let cells = vec![
                format!("{:.0}{dry}", outcome.summary.rate),
                outcome.summary.latency.cell(),
                percent(outcome.shares.generator),
                percent(outcome.shares.relay()),
            ];
            self.row(kind, cells, fault(&outcome));
        }
        self.report.end();
        if let Some(costs) = costs {
            self.report.paragraph(&costs.to_string());
        }
        Ok(())
    }

    async fn open(&mut self, options: &Ingest) -> Result<(), String> {
        let plan = plan(options.connections, options.seconds);
        let mut kinds = self.relays.clone();
        let title = format!("Ingest, open loop: {} connections, {} s", options.connections, options.seconds);
        let head = [
            "relay",
            "due/s",
            "events/s acknowledged",
            "OK",
            "sent late by",
            "generator",
            "relay CPU",
            "faults",
        ];
        self.report.table(&title, &head);
        for rate in &options.rate {
            let schedule = Schedule { rate: *rate };
            let cast = Cast::new(self.shape);
            let batch = self.sign(&cast, plan.events(schedule))?;
            let mut kept_up = Vec::new();
            for kind in kinds {
                let Some(relay) = self.start(kind, &cast).await? else { continue };
                let sockets = ingest::connect(relay.address, plan).await?;
                let run = Run::new(batch.clone());
                let mut outcome = ingest::open_loop(sockets, run, schedule, plan).await;
                if outcome.summary.rate >= f64::from(*rate) * KEPT_UP {
                    kept_up.push(kind);
                }
                let mut cells = vec![rate.to_string(), format!("{:.0}", outcome.summary.rate)];
                cells.extend([outcome.summary.latency.cell(), outcome.summary.lateness.cell()]);
                cells.extend([percent(outcome.shares.generator), percent(outcome.shares.relay())]);
                self.row(kind, cells, fault(&outcome));
            }
            kinds = kept_up;
        }
        self.report.end();
        self.report.paragraph("A relay that fell behind a rate was not tried at higher ones.");
        Ok(())
    }

    async fn fanout(&mut self, options: &Fanout) -> Result<(), String> {
        let Fanout { subscribers, connections, .. } = *options;
        let plan = Plan { warm_up: Duration::ZERO, ..plan(10, options.seconds) };
        let title = format!(
            "Fan-out: {subscribers} subscribers of one channel on {connections} connections, {} s",
            options.seconds
        );
        let head = [
            "relay",
            "due/s",
            "deliveries/s",
            "delivered",
            "delivery",
            "OK",
            "generator",
            "relay CPU",
            "faults",
        ];
        self.report.table(&title, &head);
        let mut kinds = self.relays.clone();
        for rate in &options.rate {
            let schedule = Schedule { rate: *rate };
            let cast = Cast::new(Shape { channels: 1, ..self.shape });
            let batch = self.sign(&cast, plan.events(schedule))?;
            let mut delivered = Vec::new();
            for kind in kinds {
                let Some(relay) = self.start(kind, &cast).await? else { continue };
                let subscriptions = fanout::one_channel(&cast, &batch, subscribers);
                let found = self.deliver(&relay, &batch, subscriptions, connections, schedule, plan).await?;
                let Some(mut found) = found else { continue };
                let publishing = &mut found.publishing;
                let fault = join([found.fault, fault(publishing)]);
                if fault.is_none() {
                    delivered.push(kind);
                }
                let cells = vec![
                    rate.to_string(),
                    format!("{:.0}", found.rate),
                    found.delivered.to_string(),
                    found.latency.cell(),
                    publishing.summary.latency.cell(),
                    percent(publishing.shares.generator),
                    percent(publishing.shares.relay()),
                ];
                self.row(kind, cells, fault);
            }
            kinds = delivered;
        }
        self.report.end();
        self.report.paragraph(
            "Delivery counts from when an event was due. Every subscriber is owed every event exactly once; a relay with \
             a fault was not tried at higher rates.",
        );
        Ok(())
    }

    async fn connections(&mut self, options: &Connections) -> Result<(), String> {
        let Connections { connections, subscriptions, .. } = *options;
        let plan = Plan { warm_up: Duration::ZERO, ..plan(10, options.seconds) };
        let schedule = Schedule { rate: options.rate };
        let cast = Cast::new(Shape { channels: self.shape.writers, ..self.shape });
        let batch = self.sign(&cast, plan.events(schedule))?;
        let title = format!(
            "{connections} connections with {subscriptions} subscriptions, {} events/s beside for {} s",
            options.rate, options.seconds
        );
        let head = [
            "relay",
            "subscribing",
            "resident MiB: started / subscribed / after",
            "delivered",
            "delivery",
            "OK",
            "generator",
            "relay CPU",
            "faults",
        ];
        self.report.table(&title, &head);
        for kind in self.relays.clone() {
            let Some(relay) = self.start(kind, &cast).await? else { continue };
            let wanted = fanout::mixed(&cast, &batch, subscriptions);
            let found = self.deliver(&relay, &batch, wanted, connections, schedule, plan).await?;
            let Some(mut found) = found else { continue };
            let publishing = &mut found.publishing;
            let fault = join([found.fault, fault(publishing)]);
            let Memory { before, subscribed, after } = found.memory;
            let memory = [before, subscribed, after].map(|mebibytes| match mebibytes {
                Some(mebibytes) => format!("{mebibytes:.0}"),
                None => "?".to_owned(),
            });
            let cells = vec![
                format!("{:.1} s", found.subscribing.as_secs_f64()),
                memory.join(" / "),
                found.delivered.to_string(),
                found.latency.cell(),
                publishing.summary.latency.cell(),
                percent(publishing.shares.generator),
                percent(publishing.shares.relay()),
            ];
            self.row(kind, cells, fault);
        }
        self.report.end();
        self.report.paragraph(
            "One subscription in ten is of a channel, the others each of what names one key. Memory is that of the \
             process that serves.",
        );
        Ok(())
    }

    /// Subscribes and publishes.
    async fn deliver(
        &mut self,
        relay: &Relay,
        batch: &Rc<Batch>,
        subscriptions: Vec<Subscription>,
        connections: usize,
        schedule: Schedule,
        plan: Plan,
    ) -> Result<Option<fanout::Fanout>, String> {
        let run = Run::new(batch.clone());
        let found = fanout::measure(relay, run, subscriptions, connections, schedule, plan).await;
        self.or_written_down(relay.kind, found)
    }

    async fn durability(&mut self, options: &Durability) -> Result<(), String> {
        let cast = Cast::new(self.shape);
        let batch = self.sign(&cast, options.events)?;
        let title = "Whether OK means synced";
        self.report.table(title, &["relay", "OK after a sync of its own", "syncs seen in all", "faults"]);
        for kind in self.relays.clone() {
            let Some(relay) = self.start(kind, &cast).await? else { continue };
            let mut socket = connection::open(relay.address).await?;
            // What the set-up left to be written in the background is not to be taken for an event's.
            sleep(Duration::from_secs(1)).await;
            let found = durability::measure(&mut socket, &batch).await;
            let Some(found) = self.or_written_down(kind, found)? else { continue };
            let calls: Vec<String> =
                found.calls.iter().map(|(name, count)| format!("{count} {name}")).collect();
            let calls = if calls.is_empty() { "none".to_owned() } else { calls.join(", ") };
            let is_durable = found.covered == found.events;
            let fault = (!is_durable && kind.is_ours()).then(|| "not durable".to_owned());
            self.row(kind, vec![format!("{} of {}", found.covered, found.events), calls], fault);
        }
        self.report.end();
        self.report.paragraph(
            "Published one at a time under `strace`: a sync counts for an event that was sent before the sync began and \
             whose OK came after it had ended.",
        );
        Ok(())
    }
}

/// What an event costs on PostgreSQL, in seconds of one core.
struct Costs {
    node: f64,
    database: f64,
}

impl Costs {
    fn of(outcome: &Outcome) -> Self {
        let of = |share: f64| share / 100.0 / outcome.summary.rate.max(1.0);
        Self { node: of(outcome.shares.nodes), database: of(outcome.shares.database) }
    }

    /// Events per second of so many nodes, each with two cores, and a database with enough of them. Nodes
    /// take turns in the database, so all of it is one core's work, whatever the number of nodes.
    fn rate(&self, nodes: f64) -> f64 {
        (nodes * 2.0 / self.node).min(1.0 / self.database)
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "On PostgreSQL an event costs its node {:.0} µs and the database {:.0} µs of a core. Nodes take turns \
             in the database, so on cores like these, two for each node and enough for the database, one, three \
             and thirty nodes would end at {:.0}, {:.0} and {:.0} events/s.",
            self.node * 1e6,
            self.database * 1e6,
            self.rate(1.0),
            self.rate(3.0),
            self.rate(30.0),
        )
    }
}

fn plan(connections: usize, seconds: u64) -> Plan {
    Plan { connections, warm_up: WARM_UP, measured: Duration::from_secs(seconds) }
}

fn percent(share: f64) -> String {
    format!("{share:.0} %")
}

/// What was not acknowledged.
fn fault(outcome: &Outcome) -> Option<String> {
    let summary = &outcome.summary;
    let refusals = summary.refusals.iter().map(|(prefix, count)| format!("{count} refused as {prefix}"));
    let counts = [
        (summary.unanswered, "unanswered"),
        (summary.strange, "answers to nothing"),
        (outcome.lost, "connections lost"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let faults: Vec<String> = refusals.chain(counts).collect();
    (!faults.is_empty()).then(|| faults.join(", "))
}

fn join(faults: [Option<String>; 2]) -> Option<String> {
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    (!faults.is_empty()).then(|| faults.join(", "))
}
