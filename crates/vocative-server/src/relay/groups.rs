//! Channels and who is in them, changed by events (NIP-29, section 1).
//!
//! A channel's admins and the community's owner manage it. A private channel answers those who may not
//! read it as one that does not exist.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use vocative::Tag;
use vocative_store::{
    Change, Channel, ChannelId, ChannelKind, Condition, Entry, Event, EventId, Filter, Member, Outcome,
    Position, Reader, Refusal, Roles, kinds,
};

use super::access::{self, ADMIN};
use super::admission::{Admitted, ChannelChange, NO_CHANNEL, may, required_channel};
use super::protocol::{Reason, Refused};
use super::state::State;

/// The kinds of NIP-29 that are served.
pub(crate) const PUT_USER: u32 = 9000;
pub(crate) const REMOVE_USER: u32 = 9001;
const EDIT_METADATA: u32 = 9002;
const DELETE_EVENT: u32 = kinds::CHANNEL_DELETION;
const CREATE: u32 = 9007;
const DELETE: u32 = 9008;
const CREATE_INVITE: u32 = 9009;
const JOIN: u32 = 9021;
const LEAVE: u32 = 9022;

/// What tells a channel's kind, in its creation and in its metadata.
const KIND: &str = "type";
/// What its creation and its edits may set of its metadata.
const DESCRIPTION: [&str; 3] = ["name", "about", "picture"];
/// The longest of these, in bytes: the description that the relay signs holds all three.
const LONGEST: usize = 8 * 1024;
/// The bounds of an invite code in bytes: too long to guess, short enough to say.
const CODE: std::ops::RangeInclusive<usize> = 16..=128;

/// Decides about a control event.
pub(crate) async fn control(state: &State, event: Event) -> Result<Admitted, Refused> {
    let id = required_channel(&event)?;
    let channel = state.access.channel(&id).await?;
    match event.kind {
        CREATE => return create(state, event, id, &channel).await,
        JOIN => return join(state, event, id, &channel).await,
        LEAVE => return leave(state, event, id, &channel),
        _ => {}
    }
    let living = managed(state, &event, &channel)?;
    let conditions = channel.conditions(&id, event.key);
    let entry = |changes| Entry { event: event.clone(), changes, conditions: conditions.clone() };
    let changed = |changes, takes_rights| Ok(admitted(entry(changes), id.clone(), takes_rights));
    match event.kind {
        PUT_USER => {
            let members = members(&event)?;
            let demotes = |member: &Member| {
                channel.roles(member.key).is_some_and(|roles| !roles.is_subset(&member.roles))
            };
            let takes_rights = members.iter().any(demotes);
            let put = |member| Change::SetMember(id.clone(), member);
            changed(members.into_iter().map(put).collect(), takes_rights)
        }
        REMOVE_USER => {
            let removed = members(&event)?.into_iter().map(|member| member.key);
            changed(removed.map(|key| Change::RemoveMember(id.clone(), key)).collect(), true)
        }
        EDIT_METADATA => {
            let edited = flags(living.clone(), &event)?;
            let is_narrower = edited.is_for_members() && !living.is_for_members();
            changed(vec![Change::SetChannel(edited)], is_narrower)
        }
        DELETE => changed(vec![Change::SetChannel(Channel { deleted: true, ..living.clone() })], true),
        DELETE_EVENT => {
            is_deletable(state, &event, &id).await?;
            Ok(Admitted { entries: vec![entry(Vec::new())], changes: None })
        }
        CREATE_INVITE => {
            let codes: Vec<&str> = event.values("code").collect();
            if codes.is_empty() || codes.iter().any(|code| !CODE.contains(&code.len())) {
                return Err(Refused::invalid("an invitation has a `code` tag of 16 to 128 bytes"));
            }
            changed(Vec::new(), false)
        }
        _ => Err(Refused::blocked("this relay does not serve this kind")),
    }
}

fn admitted(entry: Entry, channel: ChannelId, takes_rights: bool) -> Admitted {
    Admitted { entries: vec![entry], changes: Some(ChannelChange { channel, takes_rights }) }
}

/// The channel, if the author of the event manages it.
fn managed<'a>(state: &State, event: &Event, channel: &'a access::Entry) -> Result<&'a Channel, Refused> {
    let is_owner = state.is_owner(event.key);
    let is_seen = is_owner || channel.may_read(&[event.key]);
    let living = channel.living().filter(|_| is_seen).ok_or_else(|| Refused::restricted(NO_CHANNEL))?;
    if is_owner || channel.is_admin(event.key) {
        Ok(living)
    } else {
        Err(Refused::restricted("only admins of the channel may do this"))
    }
}

async fn create(
    state: &State,
    event: Event,
    id: ChannelId,
    taken: &access::Entry,
) -> Result<Admitted, Refused> {
    if !may(state, state.settings.create_channels(), event.key).await? {
        return Err(Refused::restricted("this key may not create channels here"));
    }
    if taken.channel.is_some() {
        return Err(Refused::blocked("the name of the channel is taken"));
    }
    let kind = match event.values(KIND).next() {
        None | Some("stream") => ChannelKind::Stream,
        Some("forum") => ChannelKind::Forum,
        Some("dm") => ChannelKind::Dm,
        Some(_) => return Err(Refused::invalid("the `type` of a channel is stream, forum or dm")),
    };
    let open = match kind {
        ChannelKind::Dm => Channel::private(id.clone(), kind),
        ChannelKind::Stream | ChannelKind::Forum => Channel::open(id.clone(), kind),
    };
    let channel = flags(open, &event)?;
    let creator = Member { key: event.key, roles: Roles::from([ADMIN.to_owned()]) };
    let mut changes = vec![Change::SetChannel(channel), Change::SetMember(id.clone(), creator)];
    if event.values("p").next().is_some() {
        let others = members(&event)?.into_iter().filter(|member| member.key != event.key);
        changes.extend(others.map(|member| Change::SetMember(id.clone(), member)));
    }
    // Of several who make a channel of one name at once, one does.
    let conditions = vec![Condition::Channel(id.clone(), None)];
    Ok(admitted(Entry { event, changes, conditions }, id, false))
}

/// The channel with the flags that an event sets: a channel is open, or private in every respect; an open
/// one may take an invitation to join.
fn flags(channel: Channel, event: &Event) -> Result<Channel, Refused> {
    if DESCRIPTION.iter().flat_map(|name| event.values(name)).any(|value| value.len() > LONGEST) {
        return Err(Refused::invalid(format!("name, about and picture have at most {LONGEST} bytes each")));
    }
    let has = |name: &str| event.tags.iter().any(|tag| tag.first().is_some_and(|n| n == name));
    let (private, public) = (has("private") || has("hidden"), has("public"));
    let (closed, open) = (has("closed"), has("open"));
    if (private && (public || open)) || (closed && open) {
        return Err(Refused::invalid("the flags of the channel contradict each other"));
    }
    let is_private = (channel.private || private) && !public;
    if channel.kind == ChannelKind::Dm && !is_private {
        return Err(Refused::invalid("direct messages are private"));
    }
    let Channel { id, kind, closed: was_closed, deleted, .. } = channel;
    if is_private {
        if open {
            return Err(Refused::invalid("a private channel takes an invitation to join"));
        }
        return Ok(Channel { deleted, ..Channel::private(id, kind) });
    }
    let is_closed = closed || (was_closed && !open && !public);
    Ok(Channel { closed: is_closed, deleted, ..Channel::open(id, kind) })
}

/// The members that an event names, with the roles that it gives them.
fn members(event: &Event) -> Result<Vec<Member>, Refused> {
    let named = event.tags.iter().filter(|tag| tag.first().is_some_and(|name| name == "p"));
    let read = |tag: &Tag| {
        let key = tag.get(1).and_then(|key| key.parse().ok());
        let key = key.ok_or_else(|| Refused::invalid("a `p` tag holds a key, 64 hex digits"))?;
        let roles: BTreeSet<String> = tag.iter().skip(2).filter(|role| !role.is_empty()).cloned().collect();
        if roles.iter().any(|role| role != ADMIN) {
            return Err(Refused::invalid("the one role of a channel is admin"));
        }
        Ok(Member { key, roles })
    };
    let members: Vec<Member> = named.map(read).collect::<Result<_, _>>()?;
    if members.is_empty() {
        return Err(Refused::invalid("this kind names keys in `p` tags"));
    }
    Ok(members)
}

async fn join(
    state: &State,
    event: Event,
    id: ChannelId,
    channel: &access::Entry,
) -> Result<Admitted, Refused> {
    let no_channel = || Refused::restricted(NO_CHANNEL);
    let living = channel.living().ok_or_else(no_channel)?;
    if channel.roles(event.key).is_some() {
        return Err(Refused::new(Reason::Duplicate, "the key is a member already"));
    }
    if living.closed && !is_invited(state, &event, &id).await? {
        let is_seen = !living.is_for_members();
        return Err(if is_seen { Refused::restricted("joining takes an invitation") } else { no_channel() });
    }
    let member = Member { key: event.key, roles: Roles::new() };
    let change = Change::SetMember(id.clone(), member);
    let request = Entry { conditions: channel.conditions(&id, event.key), ..event.into() };
    with_answer(state, request, id, PUT_USER, change, false)
}

/// Whether the event brings a code that an admin of the channel made.
async fn is_invited(state: &State, event: &Event, id: &ChannelId) -> Result<bool, Refused> {
    let Some(code) = event.values("code").next() else { return Ok(false) };
    let filter =
        Filter { kinds: Some(vec![CREATE_INVITE]), limit: Some(Filter::MAX_LIMIT), ..Filter::default() };
    let invitations = state.store.query(&Reader::Server, &filter.tag('h', [id.as_str()])).await?;
    Ok(invitations.iter().any(|invitation| invitation.values("code").any(|made| made == code)))
}

fn leave(state: &State, event: Event, id: ChannelId, channel: &access::Entry) -> Result<Admitted, Refused> {
    if channel.roles(event.key).is_none() {
        return Err(Refused::restricted(NO_CHANNEL));
    }
    let change = Change::RemoveMember(id.clone(), event.key);
    let request = Entry { conditions: channel.conditions(&id, event.key), ..event.into() };
    with_answer(state, request, id, REMOVE_USER, change, true)
}

/// A request, and with it the relay's own event that grants it.
fn with_answer(
    state: &State,
    request: Entry,
    id: ChannelId,
    kind: u32,
    change: Change,
    takes_rights: bool,
) -> Result<Admitted, Refused> {
    let Event { id: request_id, key, created_at, .. } = request.event;
    // The request is named, so that granting the next one within a second is another event.
    let tags = [["h", id.as_str()], ["p", &key.to_string()], ["e", &request_id.to_string()]];
    let tags = tags.map(|tag| tag.map(str::to_owned).to_vec()).to_vec();
    let answer = state.identity.sign(kind, tags, created_at)?;
    // Nothing is granted that was not asked for durably.
    let conditions = vec![Condition::Stored(request_id)];
    let entries = vec![request, Entry { event: answer, changes: vec![change], conditions }];
    Ok(Admitted { entries, changes: Some(ChannelChange { channel: id, takes_rights }) })
}

/// Whether everything that an event deletes is a message of the channel.
async fn is_deletable(state: &State, event: &Event, id: &ChannelId) -> Result<(), Refused> {
    let targets: Result<Vec<EventId>, _> = event.values("e").map(str::parse).collect();
    let mut targets = targets.map_err(|bad| Refused::invalid(bad.to_string()))?;
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() || targets.len() > Filter::MAX_LIMIT {
        return Err(Refused::invalid("a deletion names 1 to 1000 events in `e` tags"));
    }
    let (count, limit) = (targets.len(), Some(targets.len()));
    let filter = Filter { ids: Some(targets), limit, ..Filter::default() };
    let found = state.store.query(&Reader::Server, &filter.tag('h', [id.as_str()])).await?;
    // What changed the channel is its record, and stays. An invitation changed nothing.
    let is_record = |event: &Event| (9000..=9022).contains(&event.kind) && event.kind != CREATE_INVITE;
    if found.len() < count || found.iter().any(is_record) {
        return Err(Refused::invalid("there is no such message in the channel"));
    }
    Ok(())
}

/// Brings the relay's description of a channel (39000 to 39003) up to what is stored.
///
/// Nodes may do this at once. Each looks again after it has written, so whoever writes last has seen
/// everything that it describes.
pub(crate) async fn describe(state: &State, id: &ChannelId) -> Result<(), Refused> {
    const ATTEMPTS: usize = 16;
    for _ in 0..ATTEMPTS {
        let Some(channel) = state.store.channel(id).await?.filter(|channel| !channel.deleted) else {
            return Ok(());
        };
        let stored = stored_description(state, id).await?;
        let described = description(state, &channel, &stored).await?;
        let now = state.now();
        let mut entries = Vec::new();
        for (kind, tags) in kinds::CHANNEL_METADATA.zip(described) {
            let before = stored.iter().find(|event| event.kind == kind);
            if before.is_some_and(|before| before.tags == tags) {
                continue;
            }
            let at = before.map_or(now, |before| now.max(before.created_at.next()));
            entries.push(state.identity.sign(kind, tags, at)?.into());
        }
        if entries.is_empty() {
            return Ok(());
        }
        for outcome in state.append(entries).await? {
            // Another node was faster; what it wrote is looked at next.
            if let Outcome::Refused(refusal) = outcome
                && !matches!(refusal, Refusal::Superseded { .. })
            {
                return Err(Refused::new(Reason::Error, refusal.to_string()));
            }
        }
    }
    Err(Refused::new(Reason::Error, "the description of the channel changes too fast"))
}

async fn stored_description(state: &State, id: &ChannelId) -> Result<Vec<Event>, Refused> {
    let filter = Filter {
        authors: Some(vec![state.identity.key()]),
        kinds: Some(kinds::CHANNEL_METADATA.collect()),
        ..Filter::default()
    };
    Ok(state.store.query(&Reader::Server, &filter.tag('d', [id.as_str()])).await?)
}

/// The tags of the four descriptions, from what is stored alone.
async fn description(state: &State, channel: &Channel, stored: &[Event]) -> Result<[Vec<Tag>; 4], Refused> {
    let tag = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Tag>();
    let start = || vec![tag(&["d", channel.id.as_str()])];
    let mut metadata = start();
    let filter = Filter {
        kinds: Some(vec![CREATE, EDIT_METADATA]),
        limit: Some(Filter::MAX_LIMIT),
        ..Filter::default()
    };
    let filter = filter.tag('h', [channel.id.as_str()]);
    let mut edits = state.store.query(&Reader::Server, &filter).await?;
    // The last to be stored counts, as it does for the flags, whatever time it says. What nobody set for so
    // long is in the description that is stored.
    let found = state.store.find(&Reader::Server, &filter).await?;
    let places: HashMap<EventId, Position> = found.iter().map(|found| (found.id, found.position)).collect();
    edits.sort_by_key(|event| Reverse(places.get(&event.id).copied()));
    let older = stored.iter().filter(|event| event.kind == *kinds::CHANNEL_METADATA.start());
    for name in DESCRIPTION {
        let set = edits.iter().chain(older.clone()).find_map(|event| event.values(name).next());
        metadata.extend(set.filter(|value| !value.is_empty()).map(|value| tag(&[name, value])));
    }
    let kind = match channel.kind {
        ChannelKind::Stream => "stream",
        ChannelKind::Forum => "forum",
        ChannelKind::Dm => "dm",
    };
    metadata.push(tag(&[KIND, kind]));
    let flags = [
        ("private", channel.private),
        ("hidden", channel.hidden),
        ("restricted", channel.restricted),
        ("closed", channel.closed),
    ];
    metadata.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| tag(&[name])));
    let (mut admins, mut everyone, mut roles) = (start(), start(), start());
    for Member { key, roles } in state.store.members(&channel.id).await? {
        let key = key.to_string();
        everyone.push(tag(&["p", &key]));
        if !roles.is_empty() {
            admins.push(["p".to_owned(), key].into_iter().chain(roles).collect());
        }
    }
    roles.push(tag(&["role", ADMIN, "manages the channel and its members"]));
    Ok([metadata, admins, everyone, roles])
}
