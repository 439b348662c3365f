import type { Statement } from './statements.ts';

export const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text';
/** Grows with each purge: afterwards an id may be used again. */
export const purgedIn = (at: string): string => `(SELECT purged FROM ${at}retention)::text`;

/** Raises an error, and so ends the transaction, unless the condition holds. */
export const demanded = (condition: string): string => `1 / (${condition})::int AS demanded`;

/** The table that the lists of a service read beside `heads`. `words` are those that a search finds. */
export type ListTable = {
  readonly name: string;
  readonly columns: Readonly<Record<string, 'text' | 'bigint' | 'smallint' | 'words'>>;
};

/** The parts of a write. Most have some of them. */
export type WritePart =
  | 'events'
  | 'created'
  | 'changed'
  | 'cleared'
  | 'timed'
  | 'snapped'
  | 'listed'
  | 'unlisted'
  | 'outboxConfirmed'
  | 'outbox'
  | 'assumed';

type Next = () => string;

/** The change of a part, and the condition that must hold afterwards. */
type Step = { readonly change?: string; readonly demand?: string };

/** BEGIN comes in the same packet: had it failed, each statement would commit by itself, and the two times would be equal. */
const IN_TRANSACTION = 'now() < statement_timestamp()';

const headsIn = (next: Next): string =>
  `json_to_recordset(${next()}::json) AS n(aggregate text, kind text, before int, version int, status text, view json)`;

const listIn = (at: string, { name, columns }: ListTable, rows: string): string => {
  const fields = Object.entries(columns);
  const values = fields.map(([field, type]) =>
    type === 'words' ? `array_to_tsvector(string_to_array(${field}, ' '))` : field,
  );
  const types = fields.map(([field, type]) => `${field} ${type === 'words' ? 'text' : type}`);
  return `listed AS (
        INSERT INTO ${at}${name} (id, ${fields.map(([field]) => field).join(', ')})
        SELECT id, ${values.join(', ')} FROM json_to_recordset(${rows}::json) AS l(id text, ${types.join(', ')})
        ON CONFLICT DO NOTHING)`;
};

const DECIDED_AT = 'to_timestamp(at / 1000.0)';
/**
 * The clock of a decision without locks lags. The transaction begins after the causes of its decisions: events of other services,
 * and what the target did. Parts that took locks count from a later time.
 */
const BEGUN_AT = `greatest(${DECIDED_AT}, date_trunc('milliseconds', now()))`;

/** Each takes its parameters in the order of `writeParts`. */
const stepsIn = (
  at: string,
  isAssumed: boolean,
  list: ListTable,
): Readonly<Record<WritePart, (next: Next) => Step>> => ({
  // The bodies are an array of their own: as fields of a JSON array each was read three times.
  events: (next) => ({
    change: `added AS (
        INSERT INTO ${at}event_runs (aggregate, first, at, trace, events)
        SELECT aggregate, first, ${isAssumed ? BEGUN_AT : DECIDED_AT}, trace, events
          FROM ROWS FROM (
            json_to_recordset(${next()}::json) AS (aggregate text, first int, at bigint, trace text),
            unnest(${next()}::json[])) AS e(aggregate, first, at, trace, events))`,
  }),
  created: (next) => ({
    change: `created AS (
        INSERT INTO ${at}heads (id, kind, version, status, view)
        SELECT aggregate, kind, version, status, view FROM ${headsIn(next)} ON CONFLICT (id) DO NOTHING RETURNING 1)`,
    demand: `(SELECT count(*) FROM created) = ${next()}::int`,
  }),
  // A head changes only from the version that its decision has seen.
  changed: (next) => ({
    change: `changed AS (
        UPDATE ${at}heads h SET version = n.version, status = n.status, view = n.view
          FROM ${headsIn(next)} WHERE h.id = n.aggregate AND h.version = n.before RETURNING 1)`,
    demand: `(SELECT count(*) FROM changed) = ${next()}::int`,
  }),
  cleared: (next) => ({
    change: `cleared AS (
        DELETE FROM ${at}timers t USING json_to_recordset(${next()}::json) AS c(aggregate text, name text)
         WHERE t.aggregate = c.aggregate AND t.name = c.name)`,
  }),
  timed: (next) => ({
    change: `timed AS (
        INSERT INTO ${at}timers (aggregate, name, due_at, data, trace)
        SELECT aggregate, name, to_timestamp("dueAt" / 1000.0), data, trace
          FROM json_to_recordset(${next()}::json) AS t(aggregate text, name text, "dueAt" bigint, data json, trace text)
        ON CONFLICT (aggregate, name) DO UPDATE
          SET due_at = excluded.due_at, data = excluded.data, trace = excluded.trace)`,
  }),
  snapped: (next) => ({
    change: `snapped AS (
        INSERT INTO ${at}snapshots (aggregate, version, state)
        SELECT aggregate, version, state
          FROM json_to_recordset(${next()}::json) AS s(aggregate text, version int, state json)
        ON CONFLICT (aggregate) DO UPDATE SET version = excluded.version, state = excluded.state)`,
  }),
  listed: (next) => ({ change: listIn(at, list, next()) }),
  unlisted: (next) => ({
    change: `unlisted AS (DELETE FROM ${at}${list.name} WHERE id = ANY(${next()}::text[]))`,
  }),
  outboxConfirmed: (next) => ({
    change: `confirmed AS (DELETE FROM ${at}outbox WHERE id = ANY(${next()}::bigint[]))`,
  }),
  outbox: (next) => ({
    change: `sent AS (
        INSERT INTO ${at}outbox (messages, event_ranges) VALUES (${next()}::json, ${next()}::json) RETURNING id::text)`,
  }),
  assumed: (next) => ({ demand: `${next()} = ${purgedIn(at)} AND ${IN_TRANSACTION}` }),
});

/**
 * All writes of a batch in one statement, which returns the id of its outbox row and the clock. It leaves out parts that the batch
 * lacks: the server prepares each table of a statement for each run, even if no row changes.
 */
export const createWriteStatement = (
  at: string,
  statement: (name: string, text: string) => Statement,
  list: ListTable,
): ((parts: readonly WritePart[]) => Statement) => {
  const known = new Map<string, Statement>();

  const create = (parts: readonly WritePart[], name: string): Statement => {
    let used = 0;
    const next = (): string => `$${String((used += 1))}`;
    const stepOf = stepsIn(at, parts.includes('assumed'), list);
    const steps = parts.map((part) => stepOf[part](next));
    const changes = steps.flatMap(({ change }) => change ?? []);
    const demands = steps.flatMap(({ demand }) => demand ?? []);
    const id = parts.includes('outbox') ? '(SELECT id FROM sent)' : 'NULL';
    const holds = demands.length > 0 ? `, ${demanded(demands.join(' AND '))}` : '';
    const before = changes.length > 0 ? `WITH ${changes.join(', ')} ` : '';
    return statement(name, `${before}SELECT ${id} AS id, ${CLOCK} AS now${holds}`);
  };

  return (parts) => {
    const name = `write_${parts.map((part) => LETTERS[part]).join('')}`;
    const found = known.get(name) ?? create(parts, name);
    known.set(name, found);
    return found;
  };
};

/** Short names: the server keeps 63 characters of the name of a statement. */
const LETTERS: Readonly<Record<WritePart, string>> = {
  events: 'e',
  created: 'n',
  changed: 'h',
  cleared: 'c',
  timed: 't',
  snapped: 's',
  listed: 'l',
  unlisted: 'u',
  outboxConfirmed: 'd',
  outbox: 'o',
  assumed: 'a',
};
