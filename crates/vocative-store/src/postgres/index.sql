-- Making the mention index again.

-- The messages of a stretch of positions that have to have rows, once for each row, and whether it is there
-- and right.
CREATE OR REPLACE FUNCTION vocative_compared(a_after bigint, a_until bigint)
RETURNS TABLE (o_item bytea, o_is_right bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT w.item, CASE WHEN r.at = w.at AND r.by_event = w.by_event AND r.actor = w.actor
            AND r.channel IS NOT DISTINCT FROM w.channel AND r.why = w.why AND r.retracted = w.retracted
            AND r.deleted = w.deleted THEN 1::bigint ELSE 0 END
    FROM ({wanted_rows}) AS w(recipient, item, by_event, actor, at, channel, why, retracted, deleted)
        LEFT JOIN mentions r ON r.item = w.item AND r.recipient = w.recipient;
END $$;

-- The rows that messages have to have.
CREATE OR REPLACE FUNCTION vocative_wanted_of(a_items bytea[]) RETURNS SETOF mentions
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT w.recipient, w.at, w.item, w.by_event, w.actor, w.channel, w.why::bigint,
        w.retracted::bigint, w.deleted::bigint
    FROM ({wanted_of}) AS w(recipient, item, by_event, actor, at, channel, why, retracted, deleted);
END $$;

-- Which of these rows, counted from 1, do not stand where a message names the recipient.
CREATE OR REPLACE FUNCTION vocative_unnamed(a_recipients bytea[], a_ats bigint[], a_items bytea[])
RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT said.place
    FROM unnest(a_recipients, a_ats, a_items) WITH ORDINALITY AS said(recipient, at, item, place)
    WHERE NOT EXISTS (
        SELECT 1 FROM events x JOIN names n ON n.event = x.position AND n.how = 1 AND n.key = said.recipient
        WHERE x.id = said.item AND x.created_at = said.at AND x.kind IN (9, 40002, 45001, 45003)
            AND x.key <> said.recipient);
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

ALTER FUNCTION vocative_compared
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_wanted_of
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_unnamed
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_repair
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
