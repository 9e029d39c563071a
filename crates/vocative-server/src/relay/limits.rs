//! How often one key or address may ask (section 1, Delivery). Each node counts for itself.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use vocative::Key;

use crate::settings::Limits;

/// What a node counts.
pub(crate) struct Limiter {
    events: DefaultKeyedRateLimiter<[u8; 32]>,
    requests: DefaultKeyedRateLimiter<[u8; 32]>,
    requests_quota: Quota,
    connections: Arc<Mutex<HashMap<IpAddr, usize>>>,
    connections_per_address: usize,
}

/// Counts one connection of an address while it lives.
#[derive(Debug)]
pub(crate) struct Slot {
    address: IpAddr,
    connections: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

fn quota(per_second: u32) -> Quota {
    Quota::per_second(NonZeroU32::new(per_second).unwrap_or(NonZeroU32::MIN))
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            events: RateLimiter::keyed(quota(limits.events_per_second)),
            requests: RateLimiter::keyed(quota(limits.requests_per_second)),
            requests_quota: quota(limits.requests_per_second),
            connections: Arc::default(),
            connections_per_address: limits.connections_per_address,
        }
    }

    /// Whether a key may publish one more event now. It is asked after the signature has been verified,
    /// so that nobody uses up what another key may.
    pub(crate) fn may_publish(&self, key: Key) -> bool {
        self.events.check_key(key.as_bytes()).is_ok()
    }

    /// Whether one more request may be made now: by the key, or on a connection without one.
    pub(crate) fn may_request(&self, keys: &[Key], connection: &DefaultDirectRateLimiter) -> bool {
        match keys.first() {
            Some(key) => self.requests.check_key(key.as_bytes()).is_ok(),
            None => connection.check().is_ok(),
        }
    }

    /// What counts the requests of one connection.
    pub(crate) fn connection(&self) -> DefaultDirectRateLimiter {
        RateLimiter::direct(self.requests_quota)
    }

    /// Counts a connection; nothing when the address has as many as it may.
    pub(crate) fn connect(&self, address: IpAddr) -> Option<Slot> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let count = connections.entry(address).or_default();
        if *count >= self.connections_per_address {
            return None;
        }
        *count += 1;
        Some(Slot { address, connections: Arc::clone(&self.connections) })
    }

    /// Forgets keys that have not asked for a while.
    pub(crate) fn forget(&self) {
        self.events.retain_recent();
        self.requests.retain_recent();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = connections.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                connections.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use vocative::Key;

    use super::Limiter;
    use crate::settings::Limits;

    #[test]
    fn keys_and_addresses_are_counted_apart() {
        let limits = Limits { events_per_second: 2, connections_per_address: 1, ..Limits::default() };
        let limiter = Limiter::new(&limits);
        let (ann, bob) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
        let published = [ann, ann, ann, bob].map(|key| limiter.may_publish(key));
        assert_eq!(published, [true, true, false, true]);
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = limiter.connect(home);
        assert!(first.is_some() && limiter.connect(home).is_none());
        drop(first);
        assert!(limiter.connect(home).is_some());
    }
}
