import { type Kysely, sql } from 'kysely';

/**
 * Lines of the audit log say what a program has asked people for and what they said, and name the agent that has asked or
 * decided for somebody. Those of before stay as they are. One call takes a hundred arguments, which these are: a question and
 * its answer are never in one event.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`CREATE OR REPLACE FUNCTION audit_entry(e json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT json_strip_nulls(json_build_object(
      'task', e->'task', 'node', e->'node', 'revision', e->'revision', 'effectId', e->'effectId',
      'digest', e->'digest', 'title', e->'title', 'requestedBy', e->'requestedBy', 'audience', e->'audience',
      'policy', e->'policy', 'gate', e->'gate', 'workflow', e->'workflow', 'inDoubt', e->'inDoubt',
      CASE WHEN e->'input' IS NULL THEN 'response' ELSE 'input' END, coalesce(e->'input', e->'response'),
      'agent', e->'agent', 'expiresAt', e->'expiresAt', 'decision', e->'decision', 'outcome', e->'outcome', 'by', e->'by',
      'comment', e->'comment', 'answer', e->'answer', 'votes', e->'votes', 'surface', e->'surface',
      'rule', e->'rule', 'remembered', e->'remembered', 'code', e->'code', 'reminder', e->'reminder',
      'step', e->'step', 'notice', e->'notice', 'reference', e->'reference', 'problem', e->'problem',
      'epoch', e->'epoch', 'approval', e->'approval', 'requester', e->'requester', 'spec', e->'spec',
      'author', e->'author', 'from', e->'from', 'reason', e->'reason', 'name', e->'name',
      'principal', e->'principal', 'groups', e->'groups', 'scopes', e->'scopes', 'seq', e->'seq',
      'hash', e->'hash', 'statement', CASE WHEN e->>'type' = 'audit_anchored' THEN e->'statement' END,
      'effect', CASE WHEN e->>'type' = 'effect_outcome_recorded' THEN e->'effect' END,
      'uses', e->'effect'->'uses', 'target', e->'effect'->'target', 'kind', e->'effect'->'kind',
      'grantSha256', encode(sha256(convert_to(e->>'grant', 'UTF8')), 'hex'),
      'statementSha256', CASE WHEN e->>'type' = 'resolved'
        THEN encode(sha256(convert_to(e->>'statement', 'UTF8')), 'hex') END
    ))::text
  $$`.execute(db);
};
