//! `vocative login`, `whoami`, `people` and `logout` against a node and a double of GitHub.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use support::{Ran, vocative};
use tempfile::TempDir;
use vocative_github_double::{App, Double};

/// A node of our own, and the GitHub that it asks.
struct Stage {
    double: Double,
    node: Child,
    url: String,
    home: TempDir,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

impl Stage {
    async fn new() -> Self {
        let app = App::github_app();
        let double = Double::start(app.clone()).await.expect("it starts");
        double.set_interval(1);
        for login in ["Ann", "bob"] {
            double.add_person(login);
        }
        double.add_public("acme/app");
        let home = TempDir::new().expect("a folder");
        let mut node = vocative(home.path());
        node.args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .env("VOCATIVE_LOGIN_ALLOW", "ann,bob")
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

    /// The command of someone whose home this is.
    fn command(&self, home: &Path, arguments: &[&str]) -> Command {
        let mut command = vocative(home);
        command.args(arguments).current_dir(home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    async fn run(&self, home: &Path, arguments: &[&str]) -> Ran {
        let mut command = self.command(home, arguments);
        // GitHub's double runs here too.
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("it ends");
        Ran::from(output.expect("it runs"))
    }

    /// Logs in; what the terminal says.
    async fn log_in(&self, home: &Path, login: &str) -> (Vec<Value>, Output) {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_finds_people_and_logs_out() {
    let stage = Stage::new().await;
    let (ann, bob) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let before = stage.run(ann.path(), &["whoami", "--server", &stage.url]).await;
    assert_eq!(before.code, 1);
    assert!(before.err.contains("not_logged_in"), "{}", before.err);
    let (said, _) = stage.log_in(ann.path(), "Ann").await;
    assert_eq!(said[0]["server"], stage.url, "it says which server asks");
    assert_eq!((&said[1]["id"], &said[1]["handle"]), (&"github:ann".into(), &"Ann".into()));
    stage.log_in(bob.path(), "bob").await;

    let file = ann.path().join(".config/vocative/credentials.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    }
    let kept = std::fs::read_to_string(&file).expect("it is there");
    let token = kept.split("voc_").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
    assert!(!said.iter().any(|line| line.to_string().contains(token)), "no token is shown");

    let who = stage.run(ann.path(), &["whoami"]).await;
    assert_eq!((who.code, who.out.as_str()), (0, "@Ann (github:ann)\n"));
    let all = stage.run(ann.path(), &["people", "--repo", "acme/app"]).await;
    assert_eq!((all.code, all.out.as_str()), (0, "@Ann  github:ann\n@bob  github:bob\n"));
    let found = stage.run(ann.path(), &["people", "@B", "--repo", "acme/app", "--json"]).await;
    let found: Value = serde_json::from_str(&found.out).expect("JSON");
    assert_eq!(found["participants"][0]["id"], "github:bob");
    for (arguments, code, says) in [
        (["people", "zed", "--repo", "acme/app"], 4, "nobody_found"),
        (["people", "a", "--repo", "other/app"], 1, "repo_not_readable"),
        (["people", "a", "--repo", "acme"], 2, "bad_repository"),
        (["people", "a", "--remote", "origin"], 4, "no_repository"),
    ] {
        let refused = stage.run(ann.path(), &arguments).await;
        assert_eq!(refused.code, code, "{arguments:?} {}", refused.err);
        assert!(refused.err.contains(says), "{arguments:?} {}", refused.err);
    }

    // A second login ends the first, and the last one GitHub's token.
    stage.log_in(ann.path(), "Ann").await;
    let again = std::fs::read_to_string(&file).expect("it is there");
    assert!(!again.contains(token));
    assert_eq!(stage.double.tokens("Ann"), 1);
    let out = stage.run(ann.path(), &["logout"]).await;
    assert_eq!(out.code, 0, "{}", out.err);
    assert_eq!(stage.double.tokens("Ann"), 0);
    assert_eq!(stage.run(ann.path(), &["whoami", "--server", &stage.url]).await.code, 1);
    assert!(stage.home.path().join(".local/share/vocative/github-tokens.key").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repository_is_that_of_the_git_remote_and_forks_are_said() {
    let stage = Stage::new().await;
    let home = TempDir::new().expect("a folder");
    stage.log_in(home.path(), "Ann").await;
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(home.path()).output().expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "--quiet"]);
    let of = |name: &str| format!("{}/{name}.git", stage.double.web());
    git(&["remote", "add", "origin", &of("ann/app")]);
    git(&["remote", "add", "upstream", &of("acme/app")]);
    let found = stage.run(home.path(), &["people"]).await;
    assert_eq!((found.code, found.out.as_str()), (0, "@Ann  github:ann\n"), "{}", found.err);
    assert!(found.err.contains("ann/app") && found.err.contains("acme/app"), "{}", found.err);
    let fork = stage.run(home.path(), &["people", "--remote", "origin"]).await;
    assert_eq!(fork.code, 1);
    assert!(fork.err.contains("repo_not_readable"), "{}", fork.err);
}

#[test]
fn a_login_does_not_go_in_the_clear_and_a_file_that_others_read_is_not_used() {
    let home = TempDir::new().expect("a folder");
    let clear = support::run(home.path(), "login --server http://chat.example.com");
    assert_eq!(clear.code, 2);
    assert!(clear.err.contains("token_in_the_clear"), "{}", clear.err);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = home.path().join(".config/vocative");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("credentials.json"), "{}").expect("a file");
        std::fs::set_permissions(folder.join("credentials.json"), PermissionsExt::from_mode(0o644))
            .expect("it is ours");
        let open = support::run(home.path(), "whoami --server http://127.0.0.1:1");
        assert_eq!(open.code, 1);
        assert!(open.err.contains("secret_file_is_open"), "{}", open.err);
    }
}
