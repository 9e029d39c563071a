-- References to sessions. Whoever writes them takes turns: whether one is disputed depends on the others.
CREATE OR REPLACE FUNCTION vocative_settle(a_sessions text[], a_entries text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    {settle};
END $$;

-- Stores what a publisher says, each key once; or answers which of them, counted from 1, differs from what
-- is stored, and how that goes.
CREATE OR REPLACE FUNCTION vocative_refer(
    a_publisher text, a_sessions text[], a_entries text[], a_recipients text[], a_actors text[], a_ats bigint[],
    OUT o_added bigint, OUT o_differs bigint, OUT o_actor text, OUT o_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM pg_advisory_xact_lock(1987011170, 0);
    SELECT said.place, r.actor, r.at INTO o_differs, o_actor, o_at
    FROM unnest(a_sessions, a_entries, a_recipients, a_actors, a_ats) WITH ORDINALITY
            AS said(session, entry, recipient, actor, at, place),
        LATERAL (SELECT actor, at FROM session_mentions m
            WHERE m.session = said.session AND m.entry = said.entry AND m.recipient = said.recipient
                AND m.publisher = a_publisher OFFSET 0) r
    WHERE r.actor <> said.actor OR r.at <> said.at
    ORDER BY said.place LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO session_mentions
        SELECT said.recipient, said.at, said.session, said.entry, said.actor, a_publisher, 0
        FROM unnest(a_sessions, a_entries, a_recipients, a_actors, a_ats)
            AS said(session, entry, recipient, actor, at)
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS o_added = ROW_COUNT;
    IF o_added > 0 THEN
        PERFORM vocative_settle(a_sessions, a_entries);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION vocative_withdraw(a_publisher text, a_session text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_entries text[];
BEGIN
    PERFORM pg_advisory_xact_lock(1987011170, 0);
    WITH gone AS (
        DELETE FROM session_mentions WHERE session = a_session AND publisher = a_publisher RETURNING entry)
    SELECT COALESCE(array_agg(entry), '{}') INTO v_entries FROM gone;
    IF cardinality(v_entries) > 0 THEN
        PERFORM vocative_settle(array_fill(a_session, ARRAY[cardinality(v_entries)]), v_entries);
    END IF;
    RETURN cardinality(v_entries);
END $$;

-- Replaces what is known of an entry from a stored session.
CREATE OR REPLACE FUNCTION vocative_verdict(
    a_session text, a_entry text, a_recipients text[], a_actor text, a_at bigint
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM pg_advisory_xact_lock(1987011170, 0);
    DELETE FROM verdicts WHERE session = a_session AND entry = a_entry;
    INSERT INTO verdicts
        SELECT DISTINCT a_session, a_entry, named, a_actor, a_at FROM unnest(a_recipients) AS named;
    PERFORM vocative_settle(ARRAY[a_session], ARRAY[a_entry]);
END $$;

ALTER FUNCTION vocative_settle
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_refer
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off;
ALTER FUNCTION vocative_withdraw SET enable_seqscan = off SET jit = off;
ALTER FUNCTION vocative_verdict SET enable_seqscan = off SET jit = off;
