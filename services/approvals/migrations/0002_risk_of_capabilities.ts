import { currentSchema } from '@holdpoint/runtime/store/tables';
import { type Kysely, sql } from 'kysely';

/** The inbox goes by the risk that a request shows: a remote capability can raise it. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const schema = await currentSchema(db);
  await sql`CREATE OR REPLACE FUNCTION keep_inbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp AS $$
    DECLARE
      said record;
      rank smallint;
    BEGIN
      IF TG_OP = 'UPDATE' AND NEW.status = OLD.status
         AND (NEW.view->'audience')::text IS NOT DISTINCT FROM (OLD.view->'audience')::text THEN
        RETURN NULL; -- a vote or a reminder
      END IF;
      IF TG_OP <> 'INSERT' THEN
        DELETE FROM inbox_entries WHERE id = OLD.id;
        DELETE FROM inbox WHERE id = OLD.id;
      END IF;
      IF TG_OP = 'DELETE' OR NEW.status <> 'pending' THEN
        RETURN NULL;
      END IF;
      SELECT request."requestedAt" AS requested_at, request."expiresAt" AS expires_at, request."requestedBy"::text AS requester,
             inbox_token(request.task) AS task, inbox_token(effect.kind) AS kind, inbox_token(effect."effectClass") AS class,
             concat_ws(' ', request.title::text, left(effect.target::text, 2000), effect.uses::text, request.task::text) AS texts,
             ARRAY(SELECT '' UNION ALL SELECT DISTINCT member::text FROM json_array_elements(request.audience) AS member) AS members
        INTO said
        FROM events e,
             json_to_record(request_view(e.data, NEW.view)) AS request(title json, task json, effect json, audience json,
               "requestedBy" json, "requestedAt" bigint, "expiresAt" bigint),
             json_to_record(coalesce(request.effect, '{}')) AS effect(kind json, "effectClass" json, target json, uses json)
       WHERE e.aggregate = NEW.id AND e.version = 1;
      IF FOUND THEN
        rank := coalesce(array_position(ARRAY['high', 'medium', 'low'], NEW.view->>'risk') - 1,
                         inbox_rank(said.kind, said.class));
        INSERT INTO inbox (id, requested_at, expires_at, risk, kind, task, requester, words)
        VALUES (NEW.id, said.requested_at, said.expires_at, rank, said.kind, said.task,
                said.requester, inbox_words_in(said.texts));
        INSERT INTO inbox_entries (id, member, requested_at, expires_at, risk, kind, requester)
        SELECT NEW.id, member, said.requested_at, said.expires_at, rank, said.kind, said.requester
          FROM unnest(said.members) AS member;
      END IF;
      RETURN NULL;
    END
  $$`.execute(db);
};
