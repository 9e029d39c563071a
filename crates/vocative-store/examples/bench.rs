//! Measures a store: how fast it takes batches, and the newest 50 rows of one recipient.
//!
//! `cargo run --release -p vocative-store --example bench -- FILE|postgres://… [EVENTS]`
//!
//! Every event is a message of 200 bytes that names two of 20,000 people, in one of 50 channels. The
//! time to make events is not counted. Append: several submitters at once, each with batches of 64.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vocative::Key;
use vocative_store::postgres::Postgres;
use vocative_store::sqlite::Sqlite;
use vocative_store::{
    Change, Channel, ChannelKind, Entry, Event, EventId, InboxQuery, Store, StoreError, Timestamp,
};

const PEOPLE: u64 = 20_000;
const CHANNELS: u64 = 50;
const SUBMITTERS: u64 = 8;
const BATCH: u64 = 64;
const READS: u64 = 5_000;

#[tokio::main]
async fn main() -> Result<(), StoreError> {
    let mut args = std::env::args().skip(1);
    let place = args.next().expect("a file or a URL");
    let events: u64 = args.next().map_or(100_000, |text| text.parse().expect("a number of events"));
    let store: Arc<dyn Store> = if place.starts_with("postgres") {
        Arc::new(Postgres::open(&place).await?)
    } else {
        Arc::new(Sqlite::open(&place)?)
    };
    for n in 0..CHANNELS {
        let id = format!("channel-{n}").parse().expect("a name");
        let changes = vec![Change::SetChannel(Channel::open(id, ChannelKind::Stream))];
        store.append(vec![Entry { changes, ..Entry::from(event((1 << 40) + n)) }]).await?;
    }
    append(&store, events).await?;
    one_at_a_time(&store, events).await?;
    inbox(&store).await
}

fn mixed(n: u64) -> u64 {
    let mixed = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn bytes(n: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&mixed(n.wrapping_mul(4).wrapping_add(place as u64)).to_be_bytes());
    }
    bytes
}

fn person(n: u64) -> Key {
    Key::from_bytes(bytes(u64::MAX / 8 + n % PEOPLE))
}

fn event(n: u64) -> Event {
    let tag = |name: &str, value: String| vec![name.to_owned(), value];
    let tags = vec![
        tag("h", format!("channel-{}", n % CHANNELS)),
        tag("p", person(mixed(n)).to_string()),
        tag("p", person(mixed(n) / PEOPLE).to_string()),
    ];
    let words = (0..25).map(|i| format!("w{:06} ", mixed(n + i * 7) % 50_000));
    Event {
        id: EventId::from_bytes(bytes(n)),
        key: person(mixed(n) / 7),
        created_at: Timestamp::from_secs(1_700_000_000 + n % 10_000_000),
        kind: 9,
        tags,
        content: words.collect(),
        sig: [0; 64],
    }
}

fn quantile(times: &mut [Duration], of_hundred: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * of_hundred / 100]
}

async fn append(store: &Arc<dyn Store>, events: u64) -> Result<(), StoreError> {
    let (mut spent, mut times, mut done) = (Duration::ZERO, Vec::new(), 0);
    // In rounds, so that events are made while no clock runs and need little room.
    while done < events {
        let round = (events - done).min(SUBMITTERS * BATCH * 16);
        let made: Vec<Entry> = (done..done + round).map(|n| event(n).into()).collect();
        let parts: Vec<Vec<Entry>> =
            made.chunks(made.len().div_ceil(SUBMITTERS as usize)).map(<[_]>::to_vec).collect();
        let begun = Instant::now();
        let tasks: Vec<_> = parts
            .into_iter()
            .map(|part| {
                let store = Arc::clone(store);
                let batches: Vec<Vec<Entry>> = part.chunks(BATCH as usize).map(<[_]>::to_vec).collect();
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    for batch in batches {
                        let begun = Instant::now();
                        store.append(batch).await?;
                        times.push(begun.elapsed());
                    }
                    Ok::<_, StoreError>(times)
                })
            })
            .collect();
        for task in tasks {
            times.extend(task.await.expect("a task ends")?);
        }
        spent += begun.elapsed();
        done += round;
    }
    let (p50, p99) = (quantile(&mut times, 50), quantile(&mut times, 99));
    let rate = events as f64 / spent.as_secs_f64();
    println!("append: {events} events, {rate:.0}/s, acknowledgement p50 {p50:.1?} p99 {p99:.1?}");
    Ok(())
}

async fn one_at_a_time(store: &Arc<dyn Store>, from: u64) -> Result<(), StoreError> {
    let mut times = Vec::new();
    for n in from..from + 500 {
        let entry = event(n).into();
        let begun = Instant::now();
        store.append(vec![entry]).await?;
        times.push(begun.elapsed());
    }
    let (p50, p99) = (quantile(&mut times, 50), quantile(&mut times, 99));
    println!("append one at a time: p50 {p50:.1?} p99 {p99:.1?}");
    Ok(())
}

async fn inbox(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let (mut times, mut rows) = (Vec::new(), 0);
    for n in 0..READS {
        let query = InboxQuery::newest(person(mixed(n)), 50);
        let begun = Instant::now();
        rows += store.inbox(&query).await?.rows.len();
        times.push(begun.elapsed());
    }
    let (p50, p99) = (quantile(&mut times, 50), quantile(&mut times, 99));
    let mean = rows as u64 / READS;
    println!("newest 50 of one recipient: {mean} rows on average, p50 {p50:.1?} p99 {p99:.1?}");
    Ok(())
}
