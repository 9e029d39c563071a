//! A node with a double of GitHub, and people who use it from terminals.

#![allow(dead_code, unreachable_pub, reason = "each test file includes this and uses a part")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use vocative_github_double::{App, Double};

use crate::support::{Ran, vocative};

/// A node of our own, and the GitHub that it asks.
pub struct Stage {
    pub double: Double,
    node: Child,
    pub url: String,
    /// The home of the node's user.
    pub home: TempDir,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

impl Stage {
    /// With Ann and bob.
    pub async fn new() -> Self {
        Self::of(&["Ann", "bob"]).await
    }

    /// With these people, who may log in, and a public repository `acme/app`.
    pub async fn of(people: &[&str]) -> Self {
        let app = App::github_app();
        let double = Double::start(app.clone()).await.expect("it starts");
        double.set_interval(1);
        for login in people {
            double.add_person(login);
        }
        double.add_public("acme/app");
        let home = TempDir::new().expect("a folder");
        let mut node = vocative(home.path());
        node.args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .env("VOCATIVE_LOGIN_ALLOW", people.join(",").to_ascii_lowercase())
            .env("VOCATIVE_REPOSITORIES", "acme/*")
            .env("VOCATIVE_GITHUB_WEB", double.web())
            .env("VOCATIVE_GITHUB_API", double.api())
            .env("VOCATIVE_GITHUB_CLIENT_ID", app.client_id)
            .env("VOCATIVE_GITHUB_CLIENT_SECRET", app.client_secret)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut node = node.spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(node.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says where");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let url = said["address"].as_str().expect("an address").replacen("ws", "http", 1);
        Self { double, node, url, home }
    }

    /// Ends the node, as if its machine went away.
    pub fn go_away(&mut self) {
        self.node.kill().expect("it runs");
        self.node.wait().expect("it ends");
    }

    /// The command of someone whose home this is.
    pub fn command(&self, home: &Path, arguments: &[&str]) -> Command {
        let mut command = vocative(home);
        command.args(arguments).current_dir(home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub async fn run(&self, home: &Path, arguments: &[&str]) -> Ran {
        let mut command = self.command(home, arguments);
        // GitHub's double runs here too.
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("it ends");
        Ran::from(output.expect("it runs"))
    }

    /// Logs in; what the terminal says.
    pub async fn log_in(&self, home: &Path, login: &str) -> (Vec<Value>, Output) {
        let mut command = self.command(home, &["login", "--json", "--server", &self.url]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            out.read_line(&mut line).expect("it says what to do");
            (line, out)
        });
        let (first, out) = read.await.expect("it ends");
        let asks: Value = serde_json::from_str(&first).expect("JSON");
        self.double.approve(asks["user_code"].as_str().expect("a code"), login);
        let rest = tokio::task::spawn_blocking(move || {
            let rest: Vec<String> = out.lines().map_while(Result::ok).collect();
            (rest, child.wait_with_output().expect("it ends"))
        });
        let (rest, output) = rest.await.expect("it ends");
        let rest = rest.iter().map(|line| serde_json::from_str(line).expect("JSON"));
        (std::iter::once(asks).chain(rest).collect(), output)
    }
}
