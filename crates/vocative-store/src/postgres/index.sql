-- Making the mention index again.

-- The rows that the messages of a stretch of positions have to have.
CREATE OR REPLACE FUNCTION vocative_wanted(a_after bigint, a_until bigint) RETURNS SETOF mentions
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT w.recipient, w.at, w.item, w.by_event, w.actor, w.channel, w.why::bigint,
        w.retracted::bigint, w.deleted::bigint
    FROM ({wanted_rows}) AS w(recipient, item, by_event, actor, at, channel, why, retracted, deleted);
END $$;

-- The rows that they have.
CREATE OR REPLACE FUNCTION vocative_stored(a_after bigint, a_until bigint) RETURNS SETOF mentions
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT r.* FROM events e JOIN mentions r ON r.item = e.id
    WHERE e.position > a_after AND e.position <= a_until AND e.kind IN (9, 40002, 45001, 45003);
END $$;

-- Says again whom the events at `a_positions` name, those of them that are still there, and makes the rows
-- of messages again: of `a_items`, and of those that the agents wrote and someone else has edited.
CREATE OR REPLACE FUNCTION vocative_repair(
    a_positions bigint[], a_name_of bigint[], a_name_hows bigint[], a_name_keys bytea[], a_agents bytea[],
    a_items bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM head FOR UPDATE;
    DELETE FROM names WHERE event = ANY (a_positions);
    INSERT INTO names
        SELECT e.position, name.how, name.key
        FROM unnest(a_name_of, a_name_hows, a_name_keys) AS name(of, how, key), LATERAL (
            SELECT position FROM events WHERE position = name.of OFFSET 0) e;
    PERFORM vocative_mentions(
        a_items || ARRAY(SELECT vocative_edited(agent) FROM unnest(a_agents) AS agent), '{}');
END $$;

CREATE OR REPLACE FUNCTION vocative_settle_again(a_sessions text[], a_entries text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1987011170, 0);
    PERFORM vocative_settle(a_sessions, a_entries);
END $$;

ALTER FUNCTION vocative_wanted
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_stored
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_repair
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
