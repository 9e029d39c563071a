//! The audiences of all composers, in memory (W-1).

use std::collections::HashMap;

use super::Audience;
use crate::id::Key;
use crate::limits;

/// Whose composer, in which channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AudienceScope {
    /// Who writes.
    pub owner: Key,
    /// The channel.
    pub channel: String,
    /// The composer within it: the channel's own, or that of a thread.
    pub composer: String,
}

/// Audiences by scope, at most as many as N-6 says; the least recently used goes.
#[derive(Clone, Debug, Default)]
pub struct Audiences {
    scopes: HashMap<AudienceScope, (u64, Audience)>,
    uses: u64,
}

impl Audiences {
    /// No audiences.
    pub fn new() -> Self {
        Self::default()
    }

    /// The audience of a scope, made where it is new.
    pub fn of(&mut self, scope: &AudienceScope) -> &mut Audience {
        self.uses += 1;
        if !self.scopes.contains_key(scope) && self.scopes.len() >= limits::BINDINGS {
            let oldest = self.scopes.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(scope, _)| scope.clone()) {
                self.scopes.remove(&oldest);
            }
        }
        let (used, audience) = self.scopes.entry(scope.clone()).or_default();
        *used = self.uses;
        audience
    }

    /// The audience of a scope, where it has one.
    pub fn get(&self, scope: &AudienceScope) -> Option<&Audience> {
        self.scopes.get(scope).map(|(_, audience)| audience)
    }

    /// How many scopes have an audience.
    pub fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Whether no scope has an audience.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }
}
