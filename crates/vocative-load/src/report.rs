//! The record of a run, in Markdown: printed as it grows, and written to a file at its end.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A record that grows.
#[derive(Default)]
pub(crate) struct Report {
    text: String,
}

impl Report {
    /// Adds a paragraph.
    pub(crate) fn paragraph(&mut self, text: &str) {
        println!("{text}\n");
        let _ = writeln!(self.text, "{text}\n");
    }

    /// Adds a heading, the load of the machine at this moment, and the head of a table.
    pub(crate) fn table(&mut self, title: &str, head: &[&str]) {
        self.paragraph(&format!("## {title}"));
        self.paragraph(&format!("Load average before: {}.", load()));
        self.row(&head.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>());
        self.row(&vec!["---".to_owned(); head.len()]);
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, cells: &[String]) {
        let line = format!("| {} |", cells.join(" | "));
        println!("{line}");
        let _ = writeln!(self.text, "{line}");
    }

    /// Ends the table.
    pub(crate) fn end(&mut self) {
        println!();
        self.text.push('\n');
    }

    /// Writes the record.
    ///
    /// # Errors
    /// What the file system had against it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        fs::write(path, self.text.trim_end().to_owned() + "\n")
            .map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The machine: processor, cores, memory, kernel, and the file system of the stores.
pub(crate) fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let models: Vec<&str> =
        cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).collect();
    let memory = read("/proc/meminfo");
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let gibibytes = memory.and_then(|kibibytes| kibibytes.parse::<f64>().ok()).unwrap_or(0.0) / 1_048_576.0;
    let folder = std::env::temp_dir().canonicalize().unwrap_or_default();
    let mounts = read("/proc/mounts");
    let file_system = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(place, _)| folder.starts_with(place))
        .max_by_key(|(place, _)| place.len());
    format!(
        "{} × {}, {gibibytes:.0} GiB, Linux {}, stores on {}",
        models.len(),
        models.first().unwrap_or(&"unknown processor").trim(),
        read("/proc/sys/kernel/osrelease").trim(),
        file_system.map_or("an unknown file system", |(_, kind)| kind),
    )
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
