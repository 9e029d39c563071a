//! Measures a store.
//!
//! `cargo run --release -p vocative-store --example bench -- append FILE|URL [EVENTS]`: how fast it takes
//! events, from callers that each wait for their answer before they give the next batch.
//!
//! `… -- inbox FILE|URL [ROWS]`: the newest 50 rows of one key, and of a person with two keys and one account
//! name, among this many, which are written into the tables of a new store beside the trait: four fifths
//! of messages, one of sessions.
//!
//! `… -- rebuild FILE|URL [ROWS]`: the index of messages that have this many rows compared with them, and made
//! again after it was emptied.
//!
//! Every event is a message of 200 bytes that names two of 20,000 people, in one of 50 channels. The
//! time to make events and rows is not counted.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vocative::Key;
use vocative_store::postgres::Postgres;
use vocative_store::sqlite::Sqlite;
use vocative_store::{
    AccountName, Change, Channel, ChannelKind, Entry, Event, EventId, InboxQuery, Person, Position, Record,
    Store, Timestamp, rebuild_index,
};

const PEOPLE: u64 = 20_000;
const CHANNELS: u64 = 50;
const READS: u64 = 20_000;

type Done = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Done {
    let mut args = std::env::args().skip(1);
    let what = args.next().expect("append or inbox");
    let place = args.next().expect("a file or a URL");
    let count: Option<u64> = args.next().map(|text| text.parse().expect("a number"));
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
    if what == "rebuild" {
        return rebuild(&*store, &place, count.unwrap_or(1_000_000) / 2).await;
    }
    if what == "inbox" {
        let rows = count.unwrap_or(5_000_000);
        fill(&place, rows / 5 * 4).await?;
        fill_sessions(&place, rows / 5).await?;
        return inbox(&*store).await;
    }
    let mut next = 0;
    for (callers, batch) in [(1, 1), (8, 1), (64, 1), (256, 1), (8, 64)] {
        let events = count.unwrap_or(100_000) / if callers == 1 { 50 } else { 5 };
        append(&store, next, events, callers, batch).await?;
        next += events;
    }
    Ok(())
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

fn time(n: u64) -> u64 {
    1_700_000_000 + n % 10_000_000
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
        created_at: Timestamp::from_secs(time(n)),
        kind: 9,
        tags,
        content: words.collect(),
        sig: [0; 64],
    }
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |of_hundred: usize| times[(times.len() - 1) * of_hundred / 100];
    format!("p50 {:.1?} p99 {:.1?}", at(50), at(99))
}

/// Some callers at once, each with batches of this size.
async fn append(store: &Arc<dyn Store>, from: u64, events: u64, callers: u64, batch: u64) -> Done {
    let (mut spent, mut times, mut done) = (Duration::ZERO, Vec::new(), 0);
    // In rounds, so that events are made while no clock runs and need little room.
    while done < events {
        let round = (events - done).min(16_384);
        let made: Vec<Entry> = (0..round).map(|n| event(from + done + n).into()).collect();
        // Events come about in the order of their times, whoever brings them.
        let of = |caller| made.iter().skip(caller).step_by(callers as usize).cloned().collect();
        let parts: Vec<Vec<Entry>> = (0..callers as usize).map(of).collect();
        let begun = Instant::now();
        let tasks: Vec<_> = parts
            .into_iter()
            .map(|part| {
                let store = Arc::clone(store);
                let batches: Vec<Vec<Entry>> = part.chunks(batch as usize).map(<[_]>::to_vec).collect();
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    for batch in batches {
                        let begun = Instant::now();
                        store.append(batch).await?;
                        times.push(begun.elapsed());
                    }
                    Ok::<_, vocative_store::StoreError>(times)
                })
            })
            .collect();
        for task in tasks {
            times.extend(task.await.expect("a task ends")?);
        }
        spent += begun.elapsed();
        done += round;
    }
    let rate = events as f64 / spent.as_secs_f64();
    let answered = quantiles(times);
    println!("append, {callers} callers, batches of {batch}: {rate:.0} events/s, answered {answered}");
    Ok(())
}

/// Mention rows as messages would make them, clustered by recipient so that they are written in order.
async fn fill(place: &str, rows: u64) -> Done {
    let begun = Instant::now();
    let mut people: Vec<Key> = (0..PEOPLE).map(person).collect();
    people.sort_unstable();
    let each = rows / PEOPLE;
    if place.starts_with("postgres") {
        let (client, connection) = tokio_postgres::connect(place, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let insert = client
            .prepare(
                "INSERT INTO mentions SELECT r, at, i, i, i, 'channel-' || at % $4, 0, 0, 0 \
                 FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS made(r, at, i)",
            )
            .await?;
        for (start, some) in people.chunks(200).enumerate() {
            let made = || {
                (start as u64 * 200..)
                    .zip(some)
                    .flat_map(|(n, who)| (0..each).map(move |i| (n * each + i, who)))
            };
            let who: Vec<&[u8]> = made().map(|(_, who)| &who.as_bytes()[..]).collect();
            let times: Vec<i64> = made().map(|(n, _)| time(mixed(n)).cast_signed()).collect();
            let items: Vec<Vec<u8>> = made().map(|(n, _)| bytes(n).to_vec()).collect();
            client.execute(&insert, &[&who, &times, &items, &CHANNELS.cast_signed()]).await?;
        }
        client.batch_execute("VACUUM ANALYZE mentions").await?;
    } else {
        let db = rusqlite::Connection::open(place)?;
        db.execute_batch("PRAGMA synchronous = OFF; BEGIN")?;
        let mut insert = db.prepare("INSERT INTO mentions VALUES (?1, ?2, ?3, ?3, ?3, ?4, 0, 0, 0)")?;
        for (n, who) in (0..).zip(&people) {
            let mut times: Vec<(u64, u64)> =
                (0..each).map(|i| (time(mixed(n * each + i)), n * each + i)).collect();
            times.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
            for (at, row) in times {
                let channel = format!("channel-{}", at % CHANNELS);
                insert.execute(rusqlite::params![who.as_bytes(), at.cast_signed(), bytes(row), channel])?;
            }
        }
        drop(insert);
        db.execute_batch("COMMIT")?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    println!("{} rows written in {:.1?}", each * PEOPLE, begun.elapsed());
    Ok(())
}

async fn rebuild(store: &dyn Store, place: &str, messages: u64) -> Done {
    let head = store.head().await?.get();
    for start in (0..messages).step_by(5000) {
        let placed = (start..(start + 5000).min(messages)).map(|n| {
            let position = Position::new(head + 1 + n);
            Record::Event { position, event: event(n), deleted: false }
        });
        store.import(placed.collect(), Position::START).await?;
    }
    for what in ["found right", "made again"] {
        let begun = Instant::now();
        let done = rebuild_index(store, 16, &mut |_| {}).await?;
        let rate = done.rows as f64 / begun.elapsed().as_secs_f64();
        println!("{} rows {what} at {rate:.0} rows/s, {} messages repaired", done.rows, done.repaired);
        if place.starts_with("postgres") {
            let (client, connection) = tokio_postgres::connect(place, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute("DELETE FROM mentions").await?;
        } else {
            rusqlite::Connection::open(place)?.execute("DELETE FROM mentions", [])?;
        }
    }
    Ok(())
}

fn account(n: u64) -> AccountName {
    format!("github:person-{:05}", n % PEOPLE).parse().expect("a name")
}

/// References to sessions, the rows of each account together.
async fn fill_sessions(place: &str, rows: u64) -> Done {
    let begun = Instant::now();
    let each = rows / PEOPLE;
    let made = |n: u64, i: u64| {
        let row = n * each + i;
        let (at, actor) = (time(mixed(row)) * 1000 + row % 1000, account(mixed(row)));
        (at.cast_signed(), format!("0193{:08x}", mixed(row) >> 32), format!("{row:08x}"), actor.to_string())
    };
    if place.starts_with("postgres") {
        let (client, connection) = tokio_postgres::connect(place, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let insert = client
            .prepare(
                "INSERT INTO session_mentions SELECT $1, at, session, entry, actor, '1', 0 \
                 FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) AS made(at, session, entry, actor)",
            )
            .await?;
        for n in 0..PEOPLE {
            let (mut ats, mut sessions, mut entries, mut actors) = (vec![], vec![], vec![], vec![]);
            for (at, session, entry, actor) in (0..each).map(|i| made(n, i)) {
                ats.push(at);
                sessions.push(session);
                entries.push(entry);
                actors.push(actor);
            }
            client.execute(&insert, &[&account(n).as_str(), &ats, &sessions, &entries, &actors]).await?;
        }
        client.batch_execute("VACUUM ANALYZE session_mentions").await?;
    } else {
        let db = rusqlite::Connection::open(place)?;
        db.execute_batch("PRAGMA synchronous = OFF; DROP INDEX session_mentions_by_entry; BEGIN")?;
        let mut insert = db.prepare("INSERT INTO session_mentions VALUES (?1, ?2, ?3, ?4, ?5, '1', 0)")?;
        for n in 0..PEOPLE {
            let mut rows: Vec<_> = (0..each).map(|i| made(n, i)).collect();
            rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.0));
            for (at, session, entry, actor) in rows {
                insert.execute(rusqlite::params![account(n).as_str(), at, session, entry, actor])?;
            }
        }
        drop(insert);
        db.execute_batch(
            "CREATE UNIQUE INDEX session_mentions_by_entry \
             ON session_mentions (session, entry, recipient, publisher); COMMIT",
        )?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    println!("{} rows of sessions written in {:.1?}", each * PEOPLE, begun.elapsed());
    Ok(())
}

async fn inbox(store: &dyn Store) -> Done {
    let key = |n: u64| Person::from(person(n));
    let account = |n: u64| Person { keys: vec![person(n), person(n + 1)], names: vec![account(n)] };
    newest(store, "of one key", key).await?;
    newest(store, "of two keys and one name", account).await
}

async fn newest(store: &dyn Store, what: &str, who: impl Fn(u64) -> Person) -> Done {
    // Everyone is asked for once before the clock runs, as in a server that has run for a while.
    for round in 0..2 {
        let (mut times, mut rows) = (Vec::new(), 0);
        for n in 0..READS {
            let query = InboxQuery::newest(who(mixed(n)), 50);
            let begun = Instant::now();
            rows += store.inbox(&query).await?.rows.len();
            times.push(begun.elapsed());
        }
        if round == 1 {
            println!("newest 50 {what}: {} rows on average, {}", rows as u64 / READS, quantiles(times));
        }
    }
    Ok(())
}
