//! Channels and members, as they are changed and as they are imported.

use rusqlite::{Connection, params};

use crate::channel::{Change, Channel, Member};
use crate::value::ChannelId;

pub(super) fn apply(db: &Connection, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::SetChannel(channel) => set_channel(db, channel),
        Change::SetMember(channel, member) => set_member(db, channel, member),
        Change::RemoveMember(channel, key) => {
            db.prepare_cached("DELETE FROM members WHERE channel = ?1 AND key = ?2")?
                .execute(params![channel.as_str(), key.as_bytes()])?;
            Ok(())
        }
    }
}

pub(super) fn set_channel(db: &Connection, channel: &Channel) -> rusqlite::Result<()> {
    let (kind, flags) = channel.columns();
    let id = channel.id.as_str();
    db.prepare_cached("INSERT OR REPLACE INTO channels VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        id,
        kind,
        flags,
        channel.is_for_members(),
        channel.deleted
    ])?;
    Ok(())
}

pub(super) fn set_member(db: &Connection, channel: &ChannelId, member: &Member) -> rusqlite::Result<()> {
    let roles = serde_json::to_string(&member.roles).expect("strings are JSON");
    db.prepare_cached("INSERT OR REPLACE INTO members VALUES (?1, ?2, ?3)")?.execute(params![
        channel.as_str(),
        member.key.as_bytes(),
        roles
    ])?;
    Ok(())
}
