//! Copying one store to another, of either backend (`vocative store copy`).

use crate::error::StoreError;
use crate::store::{ExportCursor, Record, Store};
use crate::value::Position;

/// What a copy found, all of it compared with the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Events, deleted ones included.
    pub events: u64,
    /// Of these, those that this run brought; the others an earlier, interrupted run did.
    pub brought: u64,
    /// Channels.
    pub channels: u64,
    /// Members of channels.
    pub members: u64,
    /// Settings of the community, the relay's key among them.
    pub settings: u64,
    /// Documents.
    pub documents: u64,
    /// What verdicts on sessions say, each recipient counted.
    pub verdicts: u64,
    /// References to sessions.
    pub references: u64,
    /// Mention rows, which the destination made itself from the events.
    pub mentions: u64,
}

/// Records of one page.
const PAGE: usize = 500;

/// Copies everything, then compares everything. The destination is empty, or an interrupted copy of
/// the same source, which is gone on with. Positions stay what they are. Events that come meanwhile
/// are copied as far as they are seen; deletions of what is copied already are found by the
/// comparison, so copy a store that nobody writes to.
///
/// # Errors
/// [`StoreError::NotContinuing`] when the destination holds something else, and
/// [`StoreError::CopyDiffers`] with what differs at the end.
pub async fn copy(from: &dyn Store, to: &dyn Store) -> Result<Copied, StoreError> {
    copy_watched(from, to, &mut |_| {}).await
}

/// Who is told how far a copy is.
pub type Watch<'w> = &'w mut (dyn FnMut(Progress) + Send);

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Events are copied.
    Copying {
        /// Up to here.
        at: Position,
        /// The last there is.
        head: Position,
    },
    /// Everything is copied and is being compared.
    Comparing,
}

/// [`copy`], telling how far it is.
///
/// # Errors
/// Those of [`copy`].
pub async fn copy_watched(from: &dyn Store, to: &dyn Store, watch: Watch<'_>) -> Result<Copied, StoreError> {
    let head = from.head().await?;
    let done = to.head().await?;
    let is_continued =
        done <= head && at(from, done).await? == at(to, done).await? && has_settings_of(to, from).await?;
    if !is_continued {
        return Err(StoreError::NotContinuing);
    }
    let mut brought = 0;
    let mut cursor = Some(ExportCursor::Events(done));
    while let Some(at) = cursor {
        let page = from.export(&at, PAGE).await?;
        brought += page.records.iter().filter(|record| matches!(record, Record::Event { .. })).count() as u64;
        if let Some(Record::Event { position, .. }) = page.records.last() {
            watch(Progress::Copying { at: *position, head });
        }
        // The head is taken over last, so that an interrupted copy goes on after its last event.
        to.import(page.records, done).await?;
        cursor = page.next.filter(|next| !matches!(next, ExportCursor::Mentions(_)));
    }
    to.import(Vec::new(), head).await?;
    watch(Progress::Comparing);
    let compared = compare(from, to).await?;
    Ok(Copied { brought, ..compared })
}

/// What stands at a position; nothing if what stood there was replaced. Asked of both stores before
/// anything is written, so that a destination that holds something else is left as it is.
async fn at(store: &dyn Store, position: Position) -> Result<Option<Record>, StoreError> {
    let Some(before) = position.get().checked_sub(1) else { return Ok(None) };
    let page = store.export(&ExportCursor::Events(Position::new(before)), 1).await?;
    let is_there = |record: &Record| matches!(record, Record::Event { position: at, .. } if *at == position);
    Ok(page.records.into_iter().next().filter(is_there))
}

/// Whether every setting of a store is one of the other: a store that has a key of its own is another
/// community, even while it holds no event.
async fn has_settings_of(store: &dyn Store, other: &dyn Store) -> Result<bool, StoreError> {
    let page = store.export(&ExportCursor::Settings(None), PAGE).await?;
    for record in page.records {
        if let Record::Setting(setting) = record
            && other.setting(&setting.name).await? != Some(setting.value)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Walks both stores side by side.
async fn compare(from: &dyn Store, to: &dyn Store) -> Result<Copied, StoreError> {
    let mut counted = Copied::default();
    let mut cursor = Some(ExportCursor::START);
    while let Some(at) = cursor {
        let (here, there) = (from.export(&at, PAGE).await?, to.export(&at, PAGE).await?);
        let (what, count) = match at {
            ExportCursor::Events(_) => ("events", &mut counted.events),
            ExportCursor::Channels(_) => ("channels", &mut counted.channels),
            ExportCursor::Members(_) => ("members", &mut counted.members),
            ExportCursor::Settings(_) => ("settings", &mut counted.settings),
            ExportCursor::Documents(_) => ("documents", &mut counted.documents),
            ExportCursor::Verdicts(_) => ("verdicts on sessions", &mut counted.verdicts),
            ExportCursor::References(_) => ("references to sessions", &mut counted.references),
            ExportCursor::Mentions(_) => ("mention rows", &mut counted.mentions),
        };
        if here.records != there.records {
            return Err(StoreError::CopyDiffers(what));
        }
        *count += here.records.len() as u64;
        cursor = here.next;
    }
    Ok(counted)
}
