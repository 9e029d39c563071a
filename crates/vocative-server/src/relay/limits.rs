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
    events: DefaultKeyedRateLimiter<([u8; 32], Option<IpAddr>)>,
    requests: DefaultKeyedRateLimiter<[u8; 32]>,
    requests_quota: Quota,
    logins: DefaultKeyedRateLimiter<IpAddr>,
    connections: PerAddress,
}

/// Counts what each address has open, up to a bound.
#[derive(Debug)]
pub(crate) struct PerAddress {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
}

/// Counts as one of its address while it lives.
#[derive(Debug)]
pub(crate) struct Slot {
    address: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Slot {
    /// Whose it is.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }
}

impl PerAddress {
    /// So many of each address.
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), most }
    }

    /// Counts one more; nothing when the address has as many as it may.
    pub(crate) fn take(&self, address: IpAddr) -> Option<Slot> {
        let address = counted(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Slot { address, open: Arc::clone(&self.open) })
    }
}

/// What counts as one address: of IPv6 the network of 64 bits, all of which one subscriber has.
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        address => address,
    }
}

fn quota(per_second: u32) -> Quota {
    Quota::per_second(at_least_one(per_second))
}

fn at_least_one(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            events: RateLimiter::keyed(quota(limits.events_per_second)),
            requests: RateLimiter::keyed(quota(limits.requests_per_second)),
            requests_quota: quota(limits.requests_per_second),
            logins: RateLimiter::keyed(Quota::per_minute(at_least_one(limits.logins_per_minute))),
            connections: PerAddress::new(limits.connections_per_address),
        }
    }

    /// Whether one more event of a key may be published now. It is asked after the signature has been
    /// verified. Whoever has not proven the key is counted by address, so that nobody uses up what another
    /// key may, by sending its events again.
    pub(crate) fn may_publish(&self, key: Key, proven: &[Key], address: IpAddr) -> bool {
        let from = (!proven.contains(&key)).then(|| counted(address));
        self.events.check_key(&(*key.as_bytes(), from)).is_ok()
    }

    /// Whether one more request may be made now: by the key, or on a connection without one.
    pub(crate) fn may_request(&self, keys: &[Key], connection: &DefaultDirectRateLimiter) -> bool {
        match keys.first() {
            Some(key) => self.requests.check_key(key.as_bytes()).is_ok(),
            None => connection.check().is_ok(),
        }
    }

    /// Whether one more request of a key that is proven may be made now, over HTTP too.
    pub(crate) fn may_ask(&self, key: Key) -> bool {
        self.requests.check_key(key.as_bytes()).is_ok()
    }

    /// What counts the requests, or the proofs, of one connection.
    pub(crate) fn connection(&self) -> DefaultDirectRateLimiter {
        RateLimiter::direct(self.requests_quota)
    }

    /// Counts a connection; nothing when the address has as many as it may.
    pub(crate) fn connect(&self, address: IpAddr) -> Option<Slot> {
        self.connections.take(address)
    }

    /// Whether one more login may be begun now from an address: each makes GitHub work for this server.
    pub(crate) fn may_begin_login(&self, address: IpAddr) -> bool {
        self.logins.check_key(&counted(address)).is_ok()
    }

    /// Forgets keys that have not asked for a while.
    pub(crate) fn forget(&self) {
        self.events.retain_recent();
        self.requests.retain_recent();
        self.logins.retain_recent();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use vocative::Key;

    use super::{Limiter, PerAddress};
    use crate::settings::Limits;

    #[test]
    fn keys_and_addresses_are_counted_apart() {
        let limits = Limits { events_per_second: 2, connections_per_address: 1, ..Limits::default() };
        let limiter = Limiter::new(&limits);
        let (ann, bob) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let published = [ann, ann, ann, bob].map(|key| limiter.may_publish(key, &[bob], home));
        assert_eq!(published, [true, true, false, true]);
        assert!(limiter.may_publish(ann, &[ann], home), "who has proven the key is not stopped by others");
        let first = limiter.connect(home);
        assert!(first.is_some() && limiter.connect(home).is_none());
        drop(first);
        assert!(limiter.connect(home).is_some());
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let table = [
            ("2001:db8::1", "2001:db8::ffff:2", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false),
        ];
        for (one, other, is_one) in table {
            let [one, other] = [one, other].map(|text| text.parse().expect("an address"));
            let open = PerAddress::new(1);
            let _first = open.take(one).expect("the first");
            assert_eq!(open.take(other).is_none(), is_one, "{one} {other}");
        }
    }
}
