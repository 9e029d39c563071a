//! The registry as a node holds it in memory. One small document tells whether it is still what the store
//! holds; it is asked each time, so an answer is never older than its question.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use vocative::rank::{Entry, Group, Ranker};
use vocative::{Id, Key, Login};
use vocative_store::Timestamp;

use super::People;
use super::accounts::{ACCOUNTS, Account, AccountId, HELD, Holder};
use super::documents::{REGISTRY, read};
use super::error::PeopleError;
use super::participants::Participant;

/// Documents that are read at once.
const PAGE: usize = 500;

#[derive(Default)]
pub(super) struct Registry {
    held: Mutex<Option<Arc<Snapshot>>>,
}

/// Everyone, as of one version.
#[derive(Debug)]
pub(super) struct Snapshot {
    version: u64,
    accounts: HashMap<AccountId, Account>,
    by_key: HashMap<Key, AccountId>,
    holders: HashMap<Login, Vec<Holder>>,
    rows: Vec<Participant>,
    ranker: Ranker,
}

impl Snapshot {
    pub(super) fn account(&self, id: AccountId) -> Option<&Account> {
        self.accounts.get(&id)
    }

    pub(super) fn account_with(&self, key: Key) -> Option<AccountId> {
        self.by_key.get(&key).copied()
    }

    pub(super) fn account_of(&self, login: &Login, at: Timestamp) -> Option<AccountId> {
        let holders = self.holders.get(login)?;
        holders.iter().find(|holder| holder.covers(at)).map(|holder| holder.account)
    }

    /// Everyone who is addressed, by name.
    pub(super) fn rows(&self) -> &[Participant] {
        &self.rows
    }

    /// Those that answer a query, best first, as the picker orders them (S-5).
    pub(super) fn rank(&self, query: &str) -> Vec<Participant> {
        self.ranker.rank(query).into_iter().map(|row| self.rows[row].clone()).collect()
    }

    fn new(version: u64, accounts: Vec<Account>, holders: HashMap<Login, Vec<Holder>>) -> Self {
        let addressed = accounts.iter().filter_map(|account| Some((account.addressed()?, account)));
        let mut rows: Vec<(Id, &Account)> = addressed.collect();
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        let rows: Vec<Participant> = rows
            .into_iter()
            .map(|(id, account)| Participant { id, handle: account.handle.clone() })
            .collect();
        let entries = rows.iter().map(|row| Entry {
            group: Group::Members,
            names: [row.handle.as_str(), "", ""],
            key: None,
        });
        let ranker = entries.collect();
        let by_key = accounts.iter().flat_map(|account| account.keys.iter().map(|key| (*key, account.id)));
        Self {
            version,
            by_key: by_key.collect(),
            accounts: accounts.into_iter().map(|account| (account.id, account)).collect(),
            holders,
            rows,
            ranker,
        }
    }
}

impl People {
    /// The registry as it is now.
    pub(super) async fn registry(&self) -> Result<Arc<Snapshot>, PeopleError> {
        // Read first: whatever is read afterwards is at least as new.
        let version = self.documents.version(REGISTRY).await?;
        let mut held = self.registry.held.lock().await;
        if let Some(snapshot) = held.as_ref().filter(|snapshot| snapshot.version >= version) {
            return Ok(Arc::clone(snapshot));
        }
        let mut accounts = Vec::new();
        let mut holders = HashMap::new();
        for document in self.everything(ACCOUNTS).await? {
            accounts.push(read::<Account>(&document)?.value);
        }
        for document in self.everything(HELD).await? {
            let login = document.name.strip_prefix(HELD).and_then(|login| login.parse::<Login>().ok());
            if let Some(login) = login {
                holders.insert(login, read::<Vec<Holder>>(&document)?.value);
            }
        }
        let snapshot = Arc::new(Snapshot::new(version, accounts, holders));
        *held = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Every document whose name begins with a prefix.
    async fn everything(&self, prefix: &str) -> Result<Vec<vocative_store::Document>, PeopleError> {
        let mut all: Vec<vocative_store::Document> = Vec::new();
        loop {
            let after = all.last().map(|document| document.name.clone());
            let page = self.documents.page(prefix, after.as_deref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }
}
