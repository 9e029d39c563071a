-- What the server does in one statement, so that no lock outlives a round trip: the row in `head` is
-- locked and given up within the statement that commits.

-- Keeps events that go for whoever has not delivered them yet.
CREATE OR REPLACE FUNCTION vocative_remember(a_positions bigint[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO gone ({gone}, since)
    SELECT {gone}, EXTRACT(EPOCH FROM clock_timestamp())::bigint FROM events WHERE position = ANY (a_positions)
    ON CONFLICT DO NOTHING
$$;

-- Leaves of events where they stood and whom they named. Answers which messages that touches.
CREATE OR REPLACE FUNCTION vocative_entomb(a_positions bigint[]) RETURNS bytea[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_touched bytea[];
BEGIN
    PERFORM vocative_remember(a_positions);
    DELETE FROM tags WHERE event = ANY (a_positions);
    DELETE FROM search WHERE event = ANY (a_positions);
    UPDATE events SET deleted = 1, content = '', sig = decode(repeat('00', 64), 'hex'), address = NULL,
        tags = COALESCE((
            SELECT jsonb_agg(tag ORDER BY place)
            FROM jsonb_array_elements(events.tags::jsonb) WITH ORDINALITY AS listed(tag, place)
            WHERE tag ->> 0 IN ('h', 'd', 'e', 'p', 'mention', 'buzz:mention-snapshot')), '[]')::text
    WHERE position = ANY (a_positions);
    SELECT array_agg(id) INTO v_touched FROM (
        SELECT CASE WHEN kind = 40003 THEN target ELSE id END AS id FROM events
        WHERE position = ANY (a_positions) AND kind IN (9, 40002, 45001, 45003, 40003)
        UNION
        SELECT vocative_edited(key) FROM events WHERE position = ANY (a_positions) AND kind = 10100
    ) touched WHERE id IS NOT NULL;
    RETURN v_touched;
END $$;

-- Messages of an agent that someone else has edited: their rows depend on who owns the agent (X-11).
CREATE OR REPLACE FUNCTION vocative_edited(a_agent bytea) RETURNS SETOF bytea LANGUAGE sql STABLE AS $$
    SELECT DISTINCT m.id FROM events m JOIN events e ON e.target = m.id
    WHERE m.key = a_agent AND m.kind IN (9, 40002, 45001, 45003) AND e.key <> m.key
$$;

CREATE OR REPLACE FUNCTION vocative_change(a_change jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    CASE a_change ->> 'do'
    WHEN 'channel' THEN
        INSERT INTO channels VALUES (a_change ->> 'channel', (a_change ->> 'kind')::bigint,
            (a_change ->> 'flags')::bigint, (a_change ->> 'for_members')::bigint,
            (a_change ->> 'deleted')::bigint)
        ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, flags = excluded.flags,
            for_members = excluded.for_members, deleted = excluded.deleted;
    WHEN 'member' THEN
        INSERT INTO members VALUES (a_change ->> 'channel', decode(a_change ->> 'key', 'hex'),
            a_change ->> 'roles')
        ON CONFLICT (channel, key) DO UPDATE SET roles = excluded.roles;
    WHEN 'no member' THEN
        DELETE FROM members
        WHERE channel = a_change ->> 'channel' AND key = decode(a_change ->> 'key', 'hex');
    END CASE;
END $$;

-- Whether what an event was decided on is still so.
CREATE OR REPLACE FUNCTION vocative_holds(a_condition jsonb) RETURNS boolean LANGUAGE sql AS $$
    SELECT CASE a_condition ->> 'if'
    WHEN 'channel' THEN
        (SELECT jsonb_build_array(kind, flags, deleted) FROM channels WHERE id = a_condition ->> 'channel')
        IS NOT DISTINCT FROM NULLIF(a_condition -> 'is', 'null'::jsonb)
    WHEN 'roles' THEN
        (SELECT roles FROM members WHERE channel = a_condition ->> 'channel'
            AND key = decode(a_condition ->> 'key', 'hex'))
        IS NOT DISTINCT FROM a_condition ->> 'is'
    WHEN 'stored' THEN
        EXISTS (SELECT 1 FROM events WHERE id = decode(a_condition ->> 'id', 'hex') AND deleted = 0)
    END
$$;

-- Makes the mention rows of messages. `a_fresh` are those that cannot have any yet.
CREATE OR REPLACE FUNCTION vocative_mentions(a_touched bytea[], a_fresh bytea[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM mentions WHERE item IN (SELECT unnest(a_touched) EXCEPT SELECT unnest(a_fresh));
    {mention_rows};
END $$;

-- Stores a batch. Lists that end in `_of` say to which event, counted from 1, the others belong. With
-- positions it takes an import, which the rules have been applied to already; without, it applies them.
-- Answers for each event: 0 stored, 1 duplicate, 2 deleted, 3 superseded by `o_other`, 4 outdated. What
-- must still be so for it stands among its changes.
CREATE OR REPLACE FUNCTION vocative_append(
    a_ids bytea[], a_keys bytea[], a_times bigint[], a_kinds bigint[], a_tags text[], a_contents text[],
    a_sigs bytea[], a_channels text[], a_addresses text[], a_targets bytea[], a_snapshots bigint[],
    a_words text[], a_tag_of bigint[], a_tag_names text[], a_tag_values text[], a_name_of bigint[],
    a_name_hows bigint[], a_name_keys bytea[], a_dead_of bigint[], a_dead_ids bytea[],
    a_dead_address_of bigint[], a_dead_addresses text[], a_change_of bigint[], a_changes text[],
    a_positions bigint[], a_deleted bigint[], a_head bigint
) RETURNS TABLE (o_code bigint, o_position bigint, o_other bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_at bigint;
    v_new record;
    v_old record;
    v_known bytea[];
    v_is_known boolean;
    v_positions bigint[] := array_fill(NULL::bigint, ARRAY[GREATEST(cardinality(a_ids), 1)]);
    v_gone bigint[];
    v_touched bytea[] := '{}';
    v_fresh bytea[] := '{}';
    v_is_import boolean := a_positions IS NOT NULL;
BEGIN
    SELECT position INTO v_at FROM head FOR UPDATE;
    -- Of most ids nothing is stored, so those of which something is, or that stand in the batch twice or
    -- among what it deletes, are found once. The others need no look of their own: every node waits for
    -- the row in `head`.
    v_known := a_dead_ids || ARRAY(
        SELECT id FROM events WHERE id = ANY (a_ids)
        UNION ALL SELECT target FROM buried WHERE target = ANY (a_ids)
        UNION ALL SELECT id FROM unnest(a_ids) AS listed(id) GROUP BY id HAVING count(*) > 1);
    FOR v_new IN
        SELECT * FROM unnest(a_ids, a_keys, a_times, a_kinds, a_tags, a_contents, a_sigs, a_channels,
            a_addresses, a_targets, a_snapshots) WITH ORDINALITY AS listed(id, key, created_at, kind, tags,
            content, sig, channel, address, target, snapshot, at)
    LOOP
        v_is_known := v_new.id = ANY (v_known);
        o_code := 0; o_position := NULL; o_other := NULL;
        IF v_is_known THEN
            SELECT position, deleted INTO v_old FROM events WHERE id = v_new.id;
            IF FOUND AND (NOT v_is_import OR v_old.position = a_positions[v_new.at]) THEN
                o_code := 1 + v_old.deleted;
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;
        IF v_is_import THEN
            IF a_positions[v_new.at] <= v_at THEN
                RAISE EXCEPTION 'not continuing' USING ERRCODE = 'VC001';
            END IF;
            v_at := a_positions[v_new.at];
        ELSE
            IF v_new.kind NOT IN (5, 9005) AND (v_is_known OR v_new.address IS NOT NULL) THEN
                IF EXISTS (SELECT 1 FROM buried b JOIN events d ON d.position = b.event
                    WHERE b.target = v_new.id AND ((d.kind = 5 AND d.key = v_new.key)
                        OR (d.kind = 9005 AND d.channel = v_new.channel)))
                    OR EXISTS (SELECT 1 FROM buried_addresses
                        WHERE address = v_new.address AND until >= v_new.created_at)
                THEN
                    o_code := 2;
                    RETURN NEXT;
                    CONTINUE;
                END IF;
            END IF;
            IF cardinality(a_changes) > 0 THEN
                IF EXISTS (SELECT 1 FROM unnest(a_change_of, a_changes) AS change(of, said)
                    WHERE change.of = v_new.at AND said::jsonb ? 'if' AND NOT vocative_holds(said::jsonb))
                THEN
                    o_code := 4;
                    RETURN NEXT;
                    CONTINUE;
                END IF;
            END IF;
            IF v_new.address IS NOT NULL THEN
                SELECT position, id, created_at INTO v_old FROM events WHERE address = v_new.address;
                IF FOUND THEN
                    IF v_old.created_at > v_new.created_at
                        OR (v_old.created_at = v_new.created_at
                            AND (v_old.id < v_new.id OR v_new.kind BETWEEN 39000 AND 39003))
                    THEN
                        o_code := 3;
                        o_other := v_old.id;
                        RETURN NEXT;
                        CONTINUE;
                    END IF;
                    PERFORM vocative_remember(ARRAY[v_old.position]);
                    DELETE FROM tags WHERE event = v_old.position;
                    DELETE FROM search WHERE event = v_old.position;
                    DELETE FROM names WHERE event = v_old.position;
                    DELETE FROM events WHERE position = v_old.position;
                END IF;
            END IF;
            v_at := v_at + 1;
        END IF;
        v_positions[v_new.at] := v_at;
        INSERT INTO events VALUES (v_at, v_new.id, v_new.key, v_new.created_at, v_new.kind, v_new.tags,
            v_new.content, v_new.sig, v_new.channel, v_new.address, v_new.target, v_new.snapshot,
            COALESCE(a_deleted[v_new.at], 0));
        IF v_new.kind IN (9, 40002, 45001, 45003) THEN
            v_touched := v_touched || v_new.id;
            v_fresh := v_fresh || v_new.id;
        ELSIF v_new.target IS NOT NULL THEN
            v_touched := v_touched || v_new.target;
        ELSIF v_new.kind = 10100 THEN
            v_touched := v_touched || ARRAY(SELECT vocative_edited(v_new.key));
        ELSIF v_new.kind IN (5, 9005) AND COALESCE(a_deleted[v_new.at], 0) = 0 THEN
            INSERT INTO buried SELECT v_at, dead.id FROM unnest(a_dead_of, a_dead_ids) AS dead(of, id)
                WHERE dead.of = v_new.at;
            INSERT INTO buried_addresses
                SELECT dead.address, v_new.created_at FROM unnest(a_dead_address_of, a_dead_addresses)
                    AS dead(of, address) WHERE dead.of = v_new.at
                ON CONFLICT (address) DO UPDATE SET until = GREATEST(buried_addresses.until, excluded.until);
            IF NOT v_is_import THEN
                v_gone := ARRAY(
                    SELECT e.position FROM unnest(a_dead_of, a_dead_ids) AS dead(of, id)
                        JOIN events e ON e.id = dead.id
                    WHERE dead.of = v_new.at AND e.deleted = 0 AND e.kind NOT IN (5, 9005)
                        AND ((v_new.kind = 5 AND e.key = v_new.key)
                            OR (v_new.kind = 9005 AND e.channel = v_new.channel))
                    UNION
                    SELECT e.position FROM unnest(a_dead_address_of, a_dead_addresses) AS dead(of, address)
                        JOIN events e ON e.address = dead.address
                    WHERE dead.of = v_new.at AND e.created_at <= v_new.created_at);
                IF cardinality(v_gone) > 0 THEN
                    v_touched := v_touched || vocative_entomb(v_gone);
                END IF;
            END IF;
        END IF;
        IF cardinality(a_changes) > 0 THEN
            FOR v_old IN SELECT change.said FROM unnest(a_change_of, a_changes) AS change(of, said)
                WHERE change.of = v_new.at AND change.said::jsonb ? 'do'
            LOOP
                PERFORM vocative_change(v_old.said::jsonb);
            END LOOP;
        END IF;
        o_position := v_at;
        RETURN NEXT;
    END LOOP;
    -- Once for the batch. What was replaced within it is gone from `events`, what was deleted is marked.
    -- `OFFSET 0` keeps each a look-up by position, whatever the planner believes about the tables.
    INSERT INTO tags
        SELECT tag.name, tag.value, e.created_at, e.id, e.position
        FROM unnest(a_tag_of, a_tag_names, a_tag_values) AS tag(of, name, value), LATERAL (
            SELECT position, id, created_at FROM events
            WHERE position = v_positions[tag.of] AND deleted = 0 OFFSET 0) e;
    INSERT INTO names
        SELECT e.position, name.how, name.key
        FROM unnest(a_name_of, a_name_hows, a_name_keys) AS name(of, how, key), LATERAL (
            SELECT position FROM events WHERE position = v_positions[name.of] OFFSET 0) e;
    INSERT INTO search
        SELECT e.position, string_to_array(listed.words, ' ')
        FROM unnest(a_words) WITH ORDINALITY AS listed(words, of), LATERAL (
            SELECT position FROM events WHERE position = v_positions[listed.of] AND deleted = 0 OFFSET 0) e
        WHERE listed.words <> '';
    IF cardinality(v_touched) > 0 THEN
        PERFORM vocative_mentions(v_touched, v_fresh);
    END IF;
    DELETE FROM gone WHERE since < EXTRACT(EPOCH FROM clock_timestamp())::bigint - {gone_for};
    UPDATE head SET position = GREATEST(v_at, a_head) WHERE position < GREATEST(v_at, a_head);
END $$;

-- A table that has just been filled has no statistics yet, and a plan that reads it whole is kept by the
-- connection. Everything above is a look-up by an index, so say so. Then a plan is as good for one batch as
-- for the next, and is made once. Compiling plans costs more than it saves.
ALTER FUNCTION vocative_append SET enable_seqscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan;
