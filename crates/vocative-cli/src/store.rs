//! `vocative store`: backup, restore, check and copy of what a community has stored (section 6).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use vocative_store::postgres::{self, Passwords, Postgres};
use vocative_store::sqlite::{self, Sqlite};
use vocative_store::{Copied, ExportCursor, Position, Progress, Store, StoreError, copy_watched};

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::{data, terminal};

/// Arguments of `vocative store`.
#[derive(Debug, clap::Args)]
#[command(after_help = PLACES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const PLACES: &str = "\
A store is a folder of `vocative serve` or a PostgreSQL database; with neither named it is the database
in VOCATIVE_DATABASE, else the user's data folder. A password is never given on the command line, where
other users of the machine see it: it stands in VOCATIVE_DATABASE, PGPASSWORD, or the file that
PGPASSFILE names (~/.pgpass by default).
A backup is one SQLite file, whatever it was made of. It holds the relay's key: keep it as safe as the store.";

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write what is stored now to a new file, while the community goes on.
    Backup {
        #[command(flatten)]
        place: PlaceArgs,
        /// The file to make.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Say what was done as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a store of a backup, where there is none yet.
    Restore {
        /// The backup; it stays as it is.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
        /// Say what was done as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look for damage, while the community goes on.
    Check {
        #[command(flatten)]
        place: PlaceArgs,
        /// Say what was found as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copy a store that nobody writes to, and compare the two. A run after an interrupted one goes on.
    Copy {
        /// A folder, a backup, or postgres://… .
        #[arg(long, value_name = "PLACE")]
        from: String,
        /// A folder, or postgres://… .
        #[arg(long, value_name = "PLACE")]
        to: String,
        /// Say what was done as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// The folder that holds the store.
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    data: Option<PathBuf>,
    /// The database that holds the store: postgres://user@host/name, without a password.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// Where a store is.
#[derive(Clone)]
pub(crate) enum Place {
    File(PathBuf),
    Database(String),
}

impl PlaceArgs {
    /// Whether the arguments themselves name one.
    pub(crate) fn is_named(&self) -> bool {
        self.data.is_some() || self.database.is_some()
    }

    pub(crate) fn place(self) -> Result<Place, Failure> {
        match (self.data, self.database) {
            (Some(folder), _) => Ok(Place::File(data::file(&folder))),
            (None, Some(url)) => database(url),
            (None, None) => Ok(match std::env::var("VOCATIVE_DATABASE") {
                Ok(url) if !url.is_empty() => Place::Database(url),
                _ => Place::File(data::file(&data::folder())),
            }),
        }
    }
}

/// A database named on the command line.
fn database(url: String) -> Result<Place, Failure> {
    if postgres::names_password(&url) {
        let message = "a password on the command line is seen by other users: put it into VOCATIVE_DATABASE, \
             PGPASSWORD or a password file";
        return Err(Failure { code: "password_in_arguments".into(), ..Failure::usage(message) });
    }
    Ok(Place::Database(url))
}

impl Place {
    /// A place as `store copy` takes it.
    fn parse(text: String) -> Result<Self, Failure> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return database(text);
        }
        let path = PathBuf::from(text);
        let is_file = path.is_file() || path.extension().is_some_and(|extension| extension == "db");
        Ok(Self::File(if is_file { path } else { data::file(&path) }))
    }

    /// What is there now, to be read only.
    async fn snapshot(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::File(path) => Box::new(Sqlite::snapshot(path)?),
            Self::Database(url) => Box::new(Postgres::snapshot(url, &passwords()).await?),
        })
    }

    pub(crate) async fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::File(path) => Box::new(Sqlite::open(path)?),
            Self::Database(url) => Box::new(Postgres::open_with(url, &passwords()).await?),
        })
    }
}

/// From where PostgreSQL's own programs take them. A file that others may read counts for nothing.
fn passwords() -> Passwords {
    let file = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(std::env::home_dir()?.join(".pgpass")));
    Passwords {
        password: std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()),
        file: file.filter(|path| is_private(path)).and_then(|path| std::fs::read_to_string(path).ok()),
    }
}

#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

/// Runs the subcommand.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Backup { place, file, .. } => backup(&place.place()?, &file, context).await,
            Command::Restore { file, place, .. } => restore(&file, &place.place()?, context).await,
            Command::Check { place, .. } => check(&place.place()?, context).await,
            Command::Copy { from, to, .. } => {
                let (from, to) = (Place::parse(from)?, Place::parse(to)?);
                let copied = copy(&from, &to, context).await?;
                tell(&copied, "copied and compared", context)
            }
        }
    })
}

async fn backup(place: &Place, file: &Path, context: &mut Context) -> Result<Outcome, Failure> {
    if let Place::File(path) = place {
        let (from, to) = (path.clone(), file.to_owned());
        let made = tokio::task::spawn_blocking(move || sqlite::backup(&from, &to)).await;
        made.expect("a backup does not panic").map_err(|error| failure(&error))?;
        return done(file, context);
    }
    let from = place.snapshot().await.map_err(|error| failure(&error))?;
    let mut bar = Bar::new(context);
    let made = sqlite::backup_of(&*from, file, &mut |progress| bar.show(progress)).await;
    drop(bar);
    made.map_err(|error| failure(&error))?;
    done(file, context)
}

async fn restore(file: &Path, place: &Place, context: &mut Context) -> Result<Outcome, Failure> {
    match place {
        Place::File(path) => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let (from, to) = (file.to_owned(), path.clone());
            let made = tokio::task::spawn_blocking(move || sqlite::restore(&from, &to)).await;
            made.expect("a restore does not panic").map_err(|error| failure(&error))?;
            done(path, context)
        }
        Place::Database(_) => {
            let to = place.open().await.map_err(|error| failure(&error))?;
            if !is_empty(&*to).await.map_err(|error| failure(&error))? {
                return Err(failure(&StoreError::Exists));
            }
            drop(to);
            let copied = copy(&Place::File(file.to_owned()), place, context).await?;
            tell(&copied, "restored and compared", context)
        }
    }
}

/// Whether nothing was ever stored there.
async fn is_empty(store: &dyn Store) -> Result<bool, StoreError> {
    let has_settings = !store.export(&ExportCursor::Settings(None), 1).await?.records.is_empty();
    let has_channels = !store.export(&ExportCursor::Channels(None), 1).await?.records.is_empty();
    let has_documents = !store.export(&ExportCursor::Documents(None), 1).await?.records.is_empty();
    let has_references = !store.export(&ExportCursor::References(None), 1).await?.records.is_empty();
    Ok(store.head().await? == Position::START
        && !has_settings
        && !has_channels
        && !has_documents
        && !has_references)
}

async fn copy(from: &Place, to: &Place, context: &mut Context) -> Result<Copied, Failure> {
    let from = from.snapshot().await.map_err(|error| failure(&error))?;
    if let Place::File(path) = to
        && let Some(folder) = path.parent()
    {
        std::fs::create_dir_all(folder)?;
    }
    let to = to.open().await.map_err(|error| failure(&error))?;
    let mut bar = Bar::new(context);
    let copied = copy_watched(&*from, &*to, &mut |progress| bar.show(progress)).await;
    copied.map_err(|error| failure(&error))
}

async fn check(place: &Place, context: &mut Context) -> Result<Outcome, Failure> {
    let store = place.snapshot().await.map_err(|error| failure(&error))?;
    let problems = store.check().await.map_err(|error| failure(&error))?;
    if context.json {
        let found = json!({ "sound": problems.is_empty(), "problems": problems });
        writeln!(context.out, "{}", terminal::json(&found))?;
    } else {
        for problem in &problems {
            writeln!(context.out, "{}", terminal::line(problem))?;
        }
        if problems.is_empty() {
            writeln!(context.out, "the store is sound")?;
        }
    }
    Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Problems })
}

fn done(file: &Path, context: &mut Context) -> Result<Outcome, Failure> {
    let file = file.display().to_string();
    if context.json {
        writeln!(context.out, "{}", terminal::json(&json!({ "file": file })))?;
    } else {
        writeln!(context.out, "{}: written and checked", terminal::line(&file))?;
    }
    Ok(Outcome::Done)
}

fn tell(copied: &Copied, what: &str, context: &mut Context) -> Result<Outcome, Failure> {
    let Copied { events, brought, channels, members, settings, documents, verdicts, references, mentions } =
        copied;
    if context.json {
        let said = json!({
            "events": events,
            "brought": brought,
            "channels": channels,
            "members": members,
            "settings": settings,
            "documents": documents,
            "verdicts": verdicts,
            "references": references,
            "mentions": mentions,
        });
        writeln!(context.out, "{said}")?;
    } else {
        writeln!(
            context.out,
            "{events} events ({brought} in this run), {channels} channels, {members} members, \
             {settings} settings, {documents} documents, {verdicts} verdicts, {references} references, {mentions} mention rows: {what}"
        )?;
    }
    Ok(Outcome::Done)
}

/// What a person can do about it is said with it.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let advice = match error {
        StoreError::InUse => "; stop `vocative serve` first",
        StoreError::Exists => "; name a place that holds nothing",
        StoreError::NotContinuing => "; name an empty destination, or the one of the interrupted run",
        StoreError::CopyDiffers(_) => "; copy again while nobody writes, to an empty destination",
        StoreError::Full => "; free some and run it again",
        _ => "",
    };
    let outcome = match error {
        StoreError::Missing => Outcome::NotFound,
        _ => Outcome::Problems,
    };
    Failure::new(outcome, error.code(), format!("{error}{advice}"))
}

/// How far a copy is; on a terminal, and only once it has taken a while.
struct Bar {
    bar: ProgressBar,
    started: Instant,
    is_allowed: bool,
}

impl Bar {
    fn new(context: &Context) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} events {msg}");
        bar.set_style(style.expect("the template is well-formed"));
        Self { bar, started: Instant::now(), is_allowed: context.progress }
    }

    fn show(&mut self, progress: Progress) {
        if self.is_allowed && self.started.elapsed() > Duration::from_millis(500) {
            self.is_allowed = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        match progress {
            Progress::Copying { at, head } => {
                self.bar.set_length(head.get());
                self.bar.set_position(at.get());
            }
            Progress::Comparing => self.bar.set_message("comparing"),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
