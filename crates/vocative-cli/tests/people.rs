//! `vocative login`, `whoami`, `people` and `logout` against a node and a double of GitHub.

mod stage;
mod support;

use std::process::Command;

use serde_json::Value;
use stage::Stage;
use tempfile::TempDir;

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
