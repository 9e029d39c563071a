//! Whether `OK` means synced: events are published one at a time while `strace` watches the relay, and
//! each is asked whether a sync began after it left and ended before its `OK` came.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::SinkExt;
use tokio_tungstenite::tungstenite::Message;

use crate::cast::Batch;
use crate::connection::{self, Socket};
use crate::process::descendants;
use crate::wire::{self, Said};

/// System calls that put data on the disk.
const SYNCS: &str = "fsync,fdatasync,msync,sync_file_range,syncfs";

/// A span of time, since the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    begin: Duration,
    end: Duration,
}

/// What was seen.
pub(crate) struct Synced {
    pub events: usize,
    /// Events with a sync between sending and `OK`.
    pub covered: usize,
    /// The calls seen in the whole time, by name.
    pub calls: Vec<(String, usize)>,
}

/// Publishes the events of a batch one at a time and holds their times against those of the syncs.
///
/// # Errors
/// A missing `strace`, one that may not watch, and a relay that refuses or does not answer.
pub(crate) async fn measure(socket: &mut Socket, batch: &Batch) -> Result<Synced, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let trace = folder.path().join("trace");
    let mut strace = attach(&trace)?;
    let spans = publish(socket, batch).await;
    // An interrupt lets it write what it has; its own end says nothing.
    drop(Command::new("kill").args(["-INT", &strace.id().to_string()]).status());
    drop(strace.wait());
    let spans = spans?;
    let trace = fs::read_to_string(trace).map_err(|error| error.to_string())?;
    let calls: Vec<(&str, Span)> = trace.lines().filter_map(call).collect();
    let is_covered =
        |event: &&Span| calls.iter().any(|(_, sync)| event.begin <= sync.begin && sync.end <= event.end);
    let mut names: Vec<(String, usize)> = Vec::new();
    for (name, _) in &calls {
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => names.push(((*name).to_owned(), 1)),
        }
    }
    Ok(Synced { events: spans.len(), covered: spans.iter().filter(is_covered).count(), calls: names })
}

/// Watches everything that this program has started.
fn attach(trace: &std::path::Path) -> Result<Child, String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-ttt", "-T", "-e", &format!("trace={SYNCS}"), "-o"]).arg(trace);
    let watched = descendants(std::process::id());
    for process in &watched {
        command.args(["-p", &process.to_string()]);
    }
    let missing = "strace is missing: apt-get install strace";
    let mut strace =
        command.stderr(Stdio::piped()).spawn().map_err(|error| format!("{missing} ({error})"))?;
    let said = strace.stderr.take().map(BufReader::new).ok_or("no output of strace")?;
    let mut lines = said.lines().map_while(Result::ok);
    let mut heard = Vec::new();
    for line in lines.by_ref() {
        let is_attached = line.contains(" attached");
        heard.push(line);
        if is_attached && heard.iter().filter(|line| line.contains(" attached")).count() >= watched.len() {
            std::thread::spawn(move || lines.count());
            return Ok(strace);
        }
    }
    drop(strace.wait());
    Err(format!("strace cannot watch the relay: {}", heard.join("; ")))
}

async fn publish(socket: &mut Socket, batch: &Batch) -> Result<Vec<Span>, String> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut spans = Vec::with_capacity(batch.frames.len());
    for (number, frame) in (0_u32..).zip(&batch.frames) {
        let begin = now();
        socket.send(Message::Text(frame.clone())).await.map_err(|error| error.to_string())?;
        loop {
            match wire::read(&connection::receive(socket).await?) {
                Said::Ok { id, accepted: true, .. } if batch.number(id) == Some(number) => break,
                Said::Ok { accepted: false, reason, .. } => return Err(format!("refused: {reason}")),
                _ => {}
            }
        }
        spans.push(Span { begin, end: now() });
    }
    Ok(spans)
}

/// Reads a line of `strace -f -ttt -T`: a call that ended, in one piece or resumed after others.
fn call(line: &str) -> Option<(&str, Span)> {
    let (_, rest) = line.split_once(' ')?;
    let (at, rest) = rest.trim_start().split_once(' ')?;
    let at = Duration::try_from_secs_f64(at.parse().ok()?).ok()?;
    let took = rest.rsplit_once('<')?.1.strip_suffix('>')?;
    let took = Duration::try_from_secs_f64(took.parse().ok()?).ok()?;
    if let Some(resumed) = rest.strip_prefix("<... ") {
        return Some((resumed.split_once(' ')?.0, Span { begin: at.checked_sub(took)?, end: at }));
    }
    Some((rest.split_once('(')?.0, Span { begin: at, end: at + took }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_calls_are_read_with_their_time() {
        let span = |begin, end| Span { begin: Duration::from_millis(begin), end: Duration::from_millis(end) };
        let table = [
            (
                "71 1000.500000 fdatasync(9)      = 0 <0.250000>",
                Some(("fdatasync", span(1_000_500, 1_000_750))),
            ),
            (
                "71 1000.500000 <... fsync resumed>) = 0 <0.250000>",
                Some(("fsync", span(1_000_250, 1_000_500))),
            ),
            (
                "71 1000.500000 msync(0x7f, 4096, MS_SYNC) = 0 <0.5>",
                Some(("msync", span(1_000_500, 1_001_000))),
            ),
            ("71 1000.500000 fdatasync(9 <unfinished ...>", None),
            ("71 1000.500000 +++ exited with 0 +++", None),
            ("71 1000.500000 --- SIGINT {si_signo=SIGINT} ---", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(call(line), expected, "{line}");
        }
    }
}
