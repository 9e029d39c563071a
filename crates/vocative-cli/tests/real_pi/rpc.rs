//! One long-lived Pi, driven by commands, for what `pi -p` has no option for.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use serde_json::{Value, json};

use crate::pi::{LIMIT, Lab, ended, stop};

/// A Pi that runs in its RPC mode.
pub(crate) struct Rpc {
    child: Child,
    input: ChildStdin,
    events: Receiver<Value>,
    sent: usize,
}

impl Rpc {
    pub(crate) fn start(lab: &Lab, arguments: &[&str]) -> Self {
        let mut command = lab.command(&["--mode", "rpc"]);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (send, events) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // What is no JSON is a message of Node's, and no event.
                if serde_json::from_str(&line).is_ok_and(|event: Value| send.send(event).is_err()) {
                    break;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        Self { child, input, events, sent: 0 }
    }

    /// Sends a command, waits for its response, and gives the data.
    pub(crate) fn send(&mut self, mut command: Value) -> Value {
        self.sent += 1;
        let id = json!(self.sent.to_string());
        command["id"] = id.clone();
        writeln!(self.input, "{command}").unwrap();
        let response = self.wait(|event| event["type"] == "response" && event["id"] == id);
        assert_eq!(response["success"], true, "{command}: {response}");
        response["data"].clone()
    }

    /// Submits a text and waits until all of its work is done.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(json!({ "type": "prompt", "message": text }));
        self.wait(|event| event["type"] == "agent_settled");
    }

    /// Ends Pi by ending its input.
    pub(crate) fn end(self) {
        drop(self.input);
        assert_eq!(ended(self.child).code, 0);
    }

    fn wait(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.events.recv_timeout(LIMIT) {
                Ok(event) if is_it(&event) => return event,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => stop(self.child.id()),
                Err(RecvTimeoutError::Disconnected) => panic!("Pi ended before it was asked to"),
            }
        }
    }
}
