import { AUDIT_ROOT, auditHash, type AuditLine } from '@holdpoint/contracts/audit/audit';
import { type AuditFault, verifyAudit } from '@holdpoint/contracts/audit/verify';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { listAudit } from '@holdpoint/approvals/queries/audit';
import { roleOf } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { Store, StoredEvent } from '@holdpoint/runtime/engine/ports';
import { createPool } from '@holdpoint/runtime/store/pool';
import { createPostgresStore } from '@holdpoint/runtime/store/store';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneDatabase, type Database } from '../../kit/stack/databases.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { commitTo } from '../../kit/effects/writes.ts';

const ROLE = roleOf('approvals');

let database: Database;
let pool: Pool;
let replica: Pool;
let store: Store;
const connect = async (): Promise<Pool> => {
  const { host, port } = database.admin;
  const url = `postgres://${ROLE}@${host}:${String(port)}/${database.name}`;
  const password = await readPostgresPassword(currentRun().credentialsDir, ROLE);
  return createPool({ url, password, schema: 'approvals', name: 'holdpoint-test', max: 4 }, silentLogger());
};
beforeEach(async () => {
  database = await cloneDatabase(currentRun().admin);
  [pool, replica] = await Promise.all([connect(), connect()]);
  store = createPostgresStore(pool);
});
afterEach(async () => {
  await Promise.all([pool.end(), replica.end()]);
  await database.drop();
});

type Said = { readonly type: string; readonly [field: string]: unknown };

const eventsFrom = (aggregate: string, version: number, now: number, said: readonly Said[]): StoredEvent[] =>
  said.map((data, i) => ({
    kind: 'approval',
    aggregate,
    version: version + i + 1,
    type: data.type,
    at: now,
    trace: undefined,
    body: JSON.stringify(data),
  }));

const write = (aggregate: string, ...said: readonly Said[]) =>
  commitTo(store, aggregate, (version, now) => ({ events: eventsFrom(aggregate, version, now, said) }));

/** The whole log, in the smallest pages. */
const wholeLog = async (limit = 500, about?: string): Promise<AuditLine[]> => {
  const lines: AuditLine[] = [];
  for (let more = true; more;) {
    const page = await listAudit(pool, { after: lines.at(-1)?.seq ?? 0, limit, about });
    lines.push(...page.items);
    more = page.more;
  }
  return lines;
};

const faults = async (): Promise<readonly (readonly [number, AuditFault])[]> =>
  verifyAudit(await wholeLog(), { anchors: [], verify: () => undefined }).problems.map(
    ({ seq, fault }) => [seq, fault] as const,
  );

const asOwner = (...statements: readonly string[]): Promise<void> =>
  withAdmin(database.admin, async (client) => {
    await client.query('SET search_path = approvals');
    for (const statement of statements) await client.query(statement);
  });

const entryOf = (line: AuditLine | undefined): unknown => JSON.parse(line?.entry ?? 'null');

describe('the audit log of the database', () => {
  test.each([
    ['quotes and backslashes', `"it's" \\ \\" \\\\u0041 $$ %s`],
    ['line ends', 'one\ntwo\r\nthree\u2028four\t'],
    ['other scripts', 'Zoë 承認 🙂‍↔️ e\u0301 \u{10ffff}'],
    ['text that looks like JSON', '{"by":"eve","hash":null}'],
    ['control characters', '\u0001\u001f\u007f\u0085'],
    ['empty texts', ''],
  ])('the database hashes %s as auditHash does and keeps it unchanged', async (_, comment) => {
    await write('a-1', { type: 'resolved', id: 'a-1', by: `by ${comment}`, comment, outcome: 'rejected' });
    const [line] = await wholeLog();
    expect(line?.hash).toBe(line && auditHash(line));
    expect(line?.storedSha256).toBe(line?.eventSha256);
    expect(line).toMatchObject({
      seq: 1,
      previous: AUDIT_ROOT,
      aggregate: 'a-1',
      version: 1,
      type: 'resolved',
    });
    expect(entryOf(line)).toMatchObject({ by: `by ${comment}`, comment });
  });

  test('the database hashes events of a megabyte, of any number and of a newer version', async () => {
    const comment = 'ä"\\\n'.repeat(200_000);
    await write('a-1', { type: 'requested', id: 'a-1', effect: { args: { comment } } });
    await write('a-1', {
      type: 'resolved',
      comment: 'x'.repeat(500_000),
      numbers: [1e300, -0, 0.1, 2 ** 53],
    });
    await write('a-1', { type: 'what_comes_later', deep: { er: [null, true, {}] } });
    const lines = await wholeLog();
    expect(lines.map(({ type }) => type)).toEqual(['requested', 'resolved', 'what_comes_later']);
    expect(lines.map(({ hash }) => hash)).toEqual(lines.map(auditHash));
    expect(await faults()).toEqual([]);
  });

  test('a line names the person, the decision and the rule, and holds no secret or hash of a secret', async () => {
    const grant = 'header.claims.signature';
    const target = 'file:sample.txt';
    const effect = { uses: 'cap.file.append', kind: 'write_external', target, args: { key: 'sesame' } };
    await write('a-1', {
      type: 'requested',
      id: 'a-1',
      digest: 'd1',
      requestedBy: 'linus',
      effect,
      body: 'sesame',
    });
    await write('a-1', { type: 'resolved', id: 'a-1', by: 'ada', rule: 'u-1', surface: 'cli', grant });
    await write('a-1', {
      type: 'effect_outcome_recorded',
      id: 'a-1',
      effect: 'e-1',
      outcome: 'applied',
      epoch: 1,
    });
    await write('a-2', { type: 'resolved', id: 'a-2', by: 'ada', answer: 'applied', statement: grant });
    await write('k-1', {
      type: 'token_created',
      id: 'k-1',
      principal: 'ada',
      sha256: sha256Of('sesame'),
      scopes: [],
    });
    const lines = await wholeLog();
    expect(lines.map(entryOf)).toEqual([
      { digest: 'd1', requestedBy: 'linus', uses: effect.uses, target, kind: effect.kind },
      { by: 'ada', surface: 'cli', rule: 'u-1', grantSha256: sha256Of(grant) },
      { effect: 'e-1', outcome: 'applied', epoch: 1 },
      { by: 'ada', answer: 'applied', statementSha256: sha256Of(grant) },
      { principal: 'ada', scopes: [] },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/sesame|signature/);
    expect(JSON.stringify(lines)).not.toContain(sha256Of('sesame'));
  });

  test('each event of a large batch has one line in one chain', async () => {
    const said = Array.from({ length: 2_000 }, (_, i) => ({
      type: 'voted',
      id: 'a-1',
      by: `person ${String(i)}`,
    }));
    await write('a-1', ...said);
    const lines = await wholeLog(700);
    expect(lines.map(({ seq, version }) => [seq, version])).toEqual(said.map((_, i) => [i + 1, i + 1]));
    expect(await faults()).toEqual([]);
  });

  test('the chain stays single and without gaps when two replicas write at the same time', async () => {
    const stores = [store, createPostgresStore(replica)] as const;
    const each = async (own: Store, name: string): Promise<void> => {
      for (let i = 0; i < 60; i += 1) {
        const aggregate = `${name}-${String(i % 7)}`;
        await commitTo(own, aggregate, (version, now) => ({
          events: eventsFrom(aggregate, version, now, [
            { type: 'voted', by: name },
            { type: 'voted', by: name },
          ]),
        }));
      }
    };
    await Promise.all([
      each(stores[0], 'a'),
      each(stores[0], 'b'),
      each(stores[1], 'c'),
      each(stores[1], 'd'),
    ]);
    const lines = await wholeLog();
    expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: 480 }, (_, i) => i + 1));
    expect(await faults()).toEqual([]);
    // Both writers took part.
    expect(new Set(lines.slice(0, 240).map(({ aggregate }) => aggregate.slice(0, 1))).size).toBeGreaterThan(
      1,
    );
  });

  test('a transaction that is rolled back leaves no line', async () => {
    await write('a-1', { type: 'voted', by: 'ada' });
    const transaction = await store.lock(['a-1']);
    await transaction.rollback();
    // Two creations of the same aggregate: one is refused and leaves nothing.
    const twice = await Promise.allSettled([
      commitTo(store, 'a-2', (_, now) => ({
        events: eventsFrom('a-2', 0, now, [{ type: 'voted', by: 'ada' }]),
      })),
      commitTo(createPostgresStore(replica), 'a-2', (_, now) => ({
        events: eventsFrom('a-2', 0, now, [{ type: 'voted', by: 'bob' }]),
      })),
    ]);
    const lines = await wholeLog();
    expect(twice.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(lines.map(({ aggregate }) => aggregate).slice(0, 2)).toEqual(['a-1', 'a-2']);
    const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM events');
    expect(lines).toHaveLength(rows[0]?.count ?? 0);
    expect(await faults()).toEqual([]);
  });

  test('the log is listed in pages and filtered by aggregate', async () => {
    for (const [i, aggregate] of ['a-1', 'a-2', 'a-1', 'a-3', 'a-1'].entries())
      await write(aggregate, { type: 'voted', by: `person ${String(i)}` });
    const first = await listAudit(pool, { after: 0, limit: 2 });
    expect([first.items.map(({ seq }) => seq), first.more]).toEqual([[1, 2], true]);
    const last = await listAudit(pool, { after: 3, limit: 2 });
    expect([last.items.map(({ seq }) => seq), last.more]).toEqual([[4, 5], false]);
    expect((await wholeLog(1, 'a-1')).map(({ seq }) => seq)).toEqual([1, 3, 5]);
    expect(await wholeLog(1, 'a-9')).toEqual([]);
  });

  test('a page of the log fits into a bus message, whatever the size of its lines', async () => {
    for (let i = 0; i < 4; i += 1) await write('a-1', { type: 'voted', comment: 'x'.repeat(300_000) });
    const page = await listAudit(pool, { after: 0, limit: 500 });
    expect([page.items.map(({ seq }) => seq), page.more]).toEqual([[1, 2], true]);
    expect((await wholeLog()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });
});

describe('the owner of the database', () => {
  beforeEach(async () => {
    for (let i = 1; i <= 5; i += 1)
      await write(`a-${String(i)}`, { type: 'voted', by: `person ${String(i)}` });
  });

  test.each<[string, readonly string[], readonly (readonly [number, AuditFault])[]]>([
    ['changes a line', [`UPDATE audit SET entry = '{"by":"eve"}' WHERE seq = 3`], [[3, 'altered']]],
    [
      'moves a line in time',
      ['UPDATE audit SET at = at + 1 WHERE seq = 3'],
      [
        [3, 'altered'],
        [3, 'event_gone'],
      ],
    ],
    ['deletes a line', ['DELETE FROM audit WHERE seq = 3'], [[3, 'missing']]],
    [
      'deletes a line and closes the gap',
      ['DELETE FROM audit WHERE seq = 3', 'UPDATE audit SET seq = seq - 1 WHERE seq > 3'],
      [
        [3, 'unlinked'],
        [3, 'altered'],
        [4, 'altered'],
      ],
    ],
    [
      'swaps two lines',
      [
        'UPDATE audit SET seq = 99 WHERE seq = 2',
        'UPDATE audit SET seq = 2 WHERE seq = 3',
        'UPDATE audit SET seq = 3 WHERE seq = 99',
      ],
      [
        [2, 'unlinked'],
        [2, 'altered'],
        [3, 'unlinked'],
        [3, 'altered'],
        [4, 'unlinked'],
      ],
    ],
    [
      'changes a line together with its hash',
      [
        `UPDATE audit SET entry = '{"by":"eve"}' WHERE seq = 3`,
        `UPDATE audit SET hash = sha256(convert_to(concat_ws(E'\\n', encode(previous, 'hex'), seq, at, aggregate, version, type,
           encode(event_sha256, 'hex'), entry), 'UTF8')) WHERE seq = 3`,
      ],
      [[4, 'unlinked']],
    ],
    [
      'changes an event',
      [`UPDATE event_runs SET events = '[{"type":"voted","by":"eve"}]' WHERE aggregate = 'a-4'`],
      [[4, 'event_altered']],
    ],
    [
      'changes the type of an event',
      [
        `UPDATE event_runs SET events = replace(events::text, 'voted', 'resolved')::json WHERE aggregate = 'a-4'`,
      ],
      [[4, 'event_gone']],
    ],
    [
      'changes the time of an event',
      [`UPDATE event_runs SET at = at - interval '1 hour' WHERE aggregate = 'a-4'`],
      [[4, 'event_gone']],
    ],
    ['deletes an event', [`DELETE FROM event_runs WHERE aggregate = 'a-4'`], [[4, 'event_gone']]],
  ])(
    'verification detects that the owner of the database %s, and names the line',
    async (_, statements, expected) => {
      await asOwner(...statements);
      expect(await faults()).toEqual(expected);
    },
  );

  test('a purge of finished aggregates leaves their lines intact', async () => {
    await asOwner(`DELETE FROM event_runs WHERE aggregate = 'a-4'`, `DELETE FROM heads WHERE id = 'a-4'`);
    expect(await faults()).toEqual([]);
    expect((await wholeLog())[3]).not.toHaveProperty('storedSha256', expect.anything());
    // The name can be used again.
    await write('a-4', { type: 'voted', by: 'person 4' });
    expect(await faults()).toEqual([]);
  });
});

describe('the role of the service', () => {
  beforeEach(() => write('a-1', { type: 'voted', by: 'ada' }));

  test.each([
    `INSERT INTO audit VALUES (2, 1, 'a-1', 2, 'voted', '', '{}', '', '')`,
    `UPDATE audit SET entry = '{}'`,
    'DELETE FROM audit',
    'TRUNCATE audit',
    'DROP TABLE audit',
    'SELECT * FROM audit FOR UPDATE',
    `UPDATE audit_head SET seq = 0, hash = ''`,
    'DELETE FROM audit_head',
    `INSERT INTO audit_head (one, seq, hash) VALUES (false, 0, '')`,
    'DO $$ BEGIN LOCK TABLE audit_head IN ACCESS EXCLUSIVE MODE; END $$',
    'ALTER TABLE event_runs DISABLE TRIGGER events_added',
    'ALTER TABLE event_runs DISABLE TRIGGER ALL',
    'DROP TRIGGER events_added ON event_runs',
    `CREATE OR REPLACE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
    'SET session_replication_role = replica',
    'SET ROLE hp_owner',
    'CREATE TEMPORARY TABLE audit_head (seq bigint, hash text)',
    `UPDATE event_runs SET events = '[]'`,
    'DELETE FROM event_runs',
    'TRUNCATE event_runs',
  ])('the role of the service may not: %s', async (statement) => {
    const before = await wholeLog();
    // 42501: insufficient_privilege.
    await expect(pool.query(statement)).rejects.toMatchObject({ code: '42501' });
    expect(await wholeLog()).toEqual(before);
    expect(await faults()).toEqual([]);
  });
});
