import { RUN_MAX_EVENTS } from './encode.ts';
import { CLOCK, createWriteStatement, demanded, type ListTable, purgedIn } from './write-statement.ts';

/** A statement that is prepared once per connection: pg prepares statements with a name. */
export type Statement = { readonly name: string; readonly text: string };

const MILLIS = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint::text`;

const RUN = String(RUN_MAX_EVENTS);

const historyIn = (
  at: string,
): string => `SELECT h.id, s.version AS snapshot_version, s.state AS snapshot_state,
         (SELECT coalesce(json_agg(e.data ORDER BY e.version), '[]') FROM ${at}events e
           WHERE e.aggregate = h.id AND e.run > coalesce(s.version, 0) - ${RUN} AND e.version > coalesce(s.version, 0)) AS events,
         (SELECT ${MILLIS('e.at')} FROM ${at}first_events e WHERE e.aggregate = h.id) AS since,
         l.at, l.trace
    FROM unnest($1::text[]) AS h(id) LEFT JOIN ${at}snapshots s ON s.aggregate = h.id
    LEFT JOIN LATERAL (SELECT ${MILLIS('r.at')} AS at, r.trace FROM ${at}event_runs r
                        WHERE r.aggregate = h.id ORDER BY r.first DESC LIMIT 1) l ON true`;

/** No batch of a service without lists names it. */
const NO_LIST: ListTable = { name: '', columns: {} };

const statementsAt = (
  at: string,
  statement: (name: string, text: string) => Statement,
  list: ListTable = NO_LIST,
) => ({
  // The aggregate function runs over all locked rows before the target list, so the clock is read after the
  // locks.
  lock: statement(
    'lock',
    `WITH locked AS MATERIALIZED (SELECT id, version, kind FROM ${at}heads WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE)
     SELECT coalesce(json_object_agg(id, json_build_array(version, kind)), '{}') AS locked, ${CLOCK} AS now, ${purgedIn(at)} AS purged FROM locked`,
  ),
  nextDue: statement(
    'next_due',
    `SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS left FROM ${at}timers ORDER BY due_at LIMIT 1`,
  ),
  lockDue: statement(
    'lock_due',
    `WITH locked AS MATERIALIZED (
       SELECT id, version, kind FROM ${at}heads
        WHERE id IN (SELECT aggregate FROM ${at}timers WHERE due_at <= now() ORDER BY due_at LIMIT $1)
        FOR UPDATE SKIP LOCKED)
     SELECT coalesce(json_object_agg(id, json_build_array(version, kind)), '{}') AS locked, ${CLOCK} AS now, ${purgedIn(at)} AS purged FROM locked`,
  ),
  due: statement(
    'due',
    `SELECT aggregate, name, (extract(epoch FROM due_at) * 1000)::bigint::text AS due_at, data, trace
       FROM ${at}timers WHERE aggregate = ANY($1::text[]) AND due_at <= clock_timestamp() ORDER BY due_at, aggregate, name`,
  ),
  history: statement('history', historyIn(at)),
  /** The same with the kind of the aggregate; no row when there is none. */
  aggregate: statement(
    'aggregate',
    `SELECT x.*, d.kind FROM (${historyIn(at)}) x JOIN ${at}heads d ON d.id = x.id`,
  ),
  write: createWriteStatement(at, statement, list),
  // Of the aggregates of a transaction without locks that its write does not change.
  compare: statement(
    'compare',
    `WITH same AS MATERIALIZED (
       SELECT h.id FROM unnest($1::text[], $2::int[]) AS e(id, version) JOIN ${at}heads h ON h.id = e.id AND h.version = e.version
        ORDER BY h.id FOR UPDATE OF h)
     SELECT ${CLOCK} AS now,
       ${demanded(`count(*) = cardinality($1::text[]) AND NOT EXISTS (SELECT FROM ${at}heads WHERE id = ANY($3::text[]))
         AND $4 = ${purgedIn(at)}`)} FROM same`,
  ),
  // Before the events that name the content: of two batches with the same new content, one waits here.
  share: statement(
    'share',
    `INSERT INTO ${at}shared_content (digest, content)
     SELECT digest, content FROM json_to_recordset($1::json) AS s(digest text, content json)
     ON CONFLICT (digest) DO NOTHING`,
  ),
  sharedContent: statement(
    'shared_content',
    `SELECT digest, content FROM ${at}shared_content WHERE digest = ANY($1::text[])`,
  ),
  // Only the batches that have dead letters send it. A letter that is known, or resolved, stays as it is.
  deadLetters: statement(
    'dead_letters',
    `INSERT INTO ${at}dead_letters (id, letter, body)
     SELECT id, letter, decode(body, 'base64') FROM json_to_recordset($1::json) AS d(id text, letter json, body text)
     ON CONFLICT (id) DO NOTHING`,
  ),
  claimOutbox: statement(
    'claim_outbox',
    `UPDATE ${at}outbox SET claimed_until = now() + $2 * interval '1 millisecond'
      WHERE id IN (SELECT id FROM ${at}outbox
                    WHERE created_at < now() - $1 * interval '1 millisecond' AND coalesce(claimed_until, '-infinity') < now()
                    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
      RETURNING id::text, messages,
        (SELECT coalesce(json_agg(json_build_object(
                  'kind', h.kind, 'aggregate', e.aggregate, 'version', e.version, 'type', e.type, 'trace', e.trace, 'data', e.data,
                  'at', (extract(epoch FROM e.at) * 1000)::bigint) ORDER BY e.aggregate, e.version), '[]')
           FROM json_to_recordset(event_ranges) AS f(aggregate text, first int, last int)
           JOIN ${at}heads h ON h.id = f.aggregate
           JOIN ${at}events e ON e.aggregate = f.aggregate AND e.version BETWEEN f.first AND f.last
            AND e.run > f.first - ${RUN} AND e.run <= f.last) AS events`,
  ),
  confirmOutbox: statement('confirm_outbox', `DELETE FROM ${at}outbox WHERE id = ANY($1::bigint[])`),
});

export type Statements = ReturnType<typeof statementsAt>;

/** The statements of a service whose connections search its own schema alone. */
export const ownStatements = (list?: ListTable): Statements =>
  statementsAt('', (name, text) => ({ name: `hp_${name}`, text }), list);
/** Those of a service without a table of lists. */
export const statements: Statements = ownStatements();

/** The statements of a service on connections that several services share. */
export const statementsIn = (schema: string, list?: ListTable): Statements =>
  statementsAt(`${schema}.`, (name, text) => ({ name: `hp_${schema}_${name}`, text }), list);
