import type { Statement } from './statements.ts';

/** The parts of a batch. Most batches have some of them. */
export type WritePart = 'events' | 'heads' | 'cleared' | 'timed' | 'snapped' | 'outboxConfirmed' | 'outbox';

type Next = () => string;

/** All parts but the last, which ends the statement. Each takes its parameters in the order of `writeParts`. */
const changesIn = (at: string): Readonly<Record<Exclude<WritePart, 'outbox'>, (next: Next) => string>> => ({
  // The bodies are an array of their own: as fields of a JSON array each was read three times.
  events: (next) => `added AS (
        INSERT INTO ${at}events (aggregate, version, type, at, trace, data)
        SELECT aggregate, version, type, to_timestamp(at / 1000.0), trace, data
          FROM ROWS FROM (
            json_to_recordset(${next()}::json) AS (aggregate text, version int, type text, at bigint, trace text),
            unnest(${next()}::json[])) AS e(aggregate, version, type, at, trace, data))`,
  heads: (next) => `headed AS (
        INSERT INTO ${at}heads (id, kind, version, status, view)
        SELECT aggregate, kind, version, status, view
          FROM json_to_recordset(${next()}::json) AS h(aggregate text, kind text, version int, status text, view json)
        ON CONFLICT (id) DO UPDATE SET version = excluded.version, status = excluded.status, view = excluded.view)`,
  cleared: (next) => `cleared AS (
        DELETE FROM ${at}timers t USING json_to_recordset(${next()}::json) AS c(aggregate text, name text)
         WHERE t.aggregate = c.aggregate AND t.name = c.name)`,
  timed: (next) => `timed AS (
        INSERT INTO ${at}timers (aggregate, name, due_at, data, trace)
        SELECT aggregate, name, to_timestamp("dueAt" / 1000.0), data, trace
          FROM json_to_recordset(${next()}::json) AS t(aggregate text, name text, "dueAt" bigint, data json, trace text)
        ON CONFLICT (aggregate, name) DO UPDATE
          SET due_at = excluded.due_at, data = excluded.data, trace = excluded.trace)`,
  snapped: (next) => `snapped AS (
        INSERT INTO ${at}snapshots (aggregate, version, state)
        SELECT aggregate, version, state
          FROM json_to_recordset(${next()}::json) AS s(aggregate text, version int, state json)
        ON CONFLICT (aggregate) DO UPDATE SET version = excluded.version, state = excluded.state)`,
  outboxConfirmed: (next) => `confirmed AS (DELETE FROM ${at}outbox WHERE id = ANY(${next()}::bigint[]))`,
});

/**
 * All writes of a batch in one statement, which returns the id of its outbox row. It has only the parts that the batch has: the
 * server prepares each table of a statement anew in each run, also when no row changes.
 */
export const createWriteStatement = (
  at: string,
  statement: (name: string, text: string) => Statement,
): ((parts: readonly WritePart[]) => Statement) => {
  const changes = changesIn(at);
  const known = new Map<string, Statement>();

  const create = (parts: readonly WritePart[], name: string): Statement => {
    let used = 0;
    const next = (): string => `$${String((used += 1))}`;
    const changing = parts.flatMap((part) => (part === 'outbox' ? [] : [changes[part](next)]));
    const end = parts.includes('outbox')
      ? `INSERT INTO ${at}outbox (messages, event_ranges) VALUES (${next()}::json, ${next()}::json) RETURNING id::text`
      : 'SELECT NULL AS id WHERE false';
    return statement(name, changing.length === 0 ? end : `WITH ${changing.join(', ')} ${end}`);
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
  heads: 'h',
  cleared: 'c',
  timed: 't',
  snapped: 's',
  outboxConfirmed: 'd',
  outbox: 'o',
};
