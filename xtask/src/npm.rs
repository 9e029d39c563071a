//! Installing packages from the npm registry into a folder of their own.

use std::path::Path;

use crate::run::{command, succeeds};

/// Runs npm in a folder. No script of a package runs, and a registry that does not answer costs about a
/// minute.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    const FLAGS: [&str; 8] = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--prefer-offline",
        "--fetch-retries=1",
        "--fetch-timeout=30000",
        "--loglevel=error",
    ];
    if !succeeds("npm", &["--version"]) {
        return Err("npm is not installed".into());
    }
    let mut npm = command("npm", arguments);
    let ran = npm.args(FLAGS).current_dir(folder).output().map_err(|error| format!("npm: {error}"))?;
    if ran.status.success() { Ok(()) } else { Err(reason(&String::from_utf8_lossy(&ran.stderr))) }
}

/// The one line of what npm says that a person can use: the first that is no code for programs.
fn reason(told: &str) -> String {
    let mut lines = told.lines().map(|line| line.trim_start_matches("npm error").trim());
    let is_code = |line: &str| ["code ", "syscall ", "errno "].iter().any(|code| line.starts_with(code));
    let line = lines.find(|line| !line.is_empty() && !is_code(line));
    format!("npm could not install it: {}", line.unwrap_or("it did not say why"))
}

/// Whether what `node --version` prints is this version or a newer one.
pub(crate) fn is_node(version: &str, oldest: (u32, u32)) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version| version >= oldest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_enough_from_the_oldest_on() {
        for (version, is_enough) in
            [("v20.20.2", false), ("v22.18.9", false), ("v22.19.0", true), ("v24.0.0", true), ("", false)]
        {
            assert_eq!(is_node(version, (22, 19)), is_enough, "{version}");
        }
    }

    #[test]
    fn the_reason_is_what_npm_says_to_a_person() {
        let told = "npm error code ENOTFOUND\nnpm error errno ENOTFOUND\nnpm error network request failed\n";
        assert_eq!(reason(told), "npm could not install it: network request failed");
        assert_eq!(reason(""), "npm could not install it: it did not say why");
    }
}
