import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import { verifyAudit } from '@holdpoint/contracts/audit/verify';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { createVerifier } from '@holdpoint/contracts/values/jws';
import { publicKeysIn } from '@holdpoint/contracts/approval/signing-keys';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '../../kit/bus/client.ts';
import { commandLine } from '../../kit/command-line.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
let approvals: ServiceInProcess;
beforeAll(async () => {
  system = await createSystem();
  ({ approvals } = await system.startAll());
});
afterAll(() => system.stop());

const wholeLog = async (): Promise<AuditLine[]> => {
  const lines: AuditLine[] = [];
  for (let more = true; more;) {
    const page = await system.client.ask('approvals', 'audit', { after: lines.at(-1)?.seq ?? 0, limit: 7 });
    lines.push(...page.items);
    more = page.more;
  }
  return lines;
};

const check = async () => {
  const { keys } = await system.client.ask('approvals', 'keys', {});
  const verify = createVerifier(keys.flatMap(({ publicKey }) => publicKeysIn(publicKey)));
  return verifyAudit(await wholeLog(), { anchors: [], verify });
};

const anchors = async (): Promise<number> => (await check()).anchors;

const asOwner = (...statements: readonly string[]): Promise<void> =>
  withAdmin(system.database.admin, async (client) => {
    await client.query('SET search_path = approvals');
    for (const statement of statements) await client.query(statement);
  });

describe('the audit log of running services', () => {
  test('the log has one line for each event of an approved task, with the outcome of its effect', async () => {
    const task = await submitSample(system.client);
    await approveAndComplete(system.client, task);
    await untilTrue('the outcome is recorded', async () =>
      (await wholeLog()).some(
        ({ type, aggregate }) => type === 'effect_outcome_recorded' && aggregate === task.approval,
      ),
    );
    const { items } = await system.client.ask('approvals', 'audit', { about: task.approval });
    expect(items.map(({ type, version }) => [type, version]).slice(0, 2)).toEqual([
      ['requested', 1],
      ['resolved', 2],
    ]);
    expect(JSON.parse(items[1]?.entry ?? '')).toMatchObject({ by: 'operator', outcome: 'approved' });
    const { rows } = await withAdmin(system.database.admin, (client) =>
      client.query<{ count: number }>('SELECT count(*)::int AS count FROM approvals.events'),
    );
    const report = await check();
    expect(report).toMatchObject({ lines: rows[0]?.count, problems: [] });
  });

  test('the log is anchored, and the anchor is published on the bus', async () => {
    await untilTrue('there is an anchor', async () => (await anchors()) > 0);
    const [line] = (await wholeLog()).filter(({ type }) => type === 'audit_anchored');
    expect(line).toMatchObject({ aggregate: AUDIT_ID });
    const cli = commandLine(system);
    const { code, out, err } = await cli(
      'audit',
      'verify',
      '--keys',
      layout(system.run.credentialsDir).grantPublicKeys,
    );
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^audit log intact: \d+ lines/);
  });

  test('a start adds an anchor only when lines were added', async () => {
    const before = await anchors();
    await approveAndComplete(system.client, await submitSample(system.client));
    await approvals.stop();
    approvals = await system.start('approvals');
    await untilTrue('there is another anchor', async () => (await anchors()) > before);
    expect((await check()).problems).toEqual([]);
    const after = await anchors();
    await approvals.stop();
    approvals = await system.start('approvals');
    await untilTrue('it answers', async () => (await wholeLog()).length > 0);
    expect(await anchors()).toBe(after);
  });

  test('only tokens with the right scope read the log; anyone reads the public keys', async () => {
    const call = (endpoint: string, token?: string) =>
      system.client.askRaw(subjects.api('approvals', endpoint), '{}', token);
    for (const token of [undefined, 'hpt_of_nobody']) {
      const refusal = await call('audit', token).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
    }
    expect(await call('keys')).toMatchObject({ keys: [{ kid: expect.any(String) as string }] });
  });

  test('the command line lists and exports the log, and an export reveals a later rewrite', async () => {
    const cli = commandLine(system);
    const list = await cli('audit', 'list', '--limit', '3');
    expect([list.code, list.out.split('\n')[0]]).toEqual([0, expect.stringMatching(/^line +when +about/)]);
    expect((await cli('audit', 'export', '--out', 'audit.jsonl')).code).toBe(0);
    const publicKeys = layout(system.run.credentialsDir).grantPublicKeys;
    expect(await cli('audit', 'verify', '--file', 'audit.jsonl', '--keys', publicKeys)).toMatchObject({
      code: 0,
    });
    expect((await cli('audit', 'export')).out.split('\n')[0]).toMatch(/^{"kind":"keys"/);

    // The owner of the database rewrites the last decision and every later line, and removes all anchors.
    // The hashes are consistent.
    await approvals.stop();
    await asOwner(
      'ALTER TABLE event_runs DISABLE TRIGGER events_added',
      'DELETE FROM audit',
      `UPDATE audit_head SET seq = 0, hash = repeat('0', 64)`,
      `CREATE TEMPORARY TABLE kept AS SELECT * FROM event_runs WHERE aggregate <> '${AUDIT_ID}'`,
      'DELETE FROM event_runs',
      `DELETE FROM heads WHERE id = '${AUDIT_ID}'`,
      `DELETE FROM snapshots WHERE aggregate = '${AUDIT_ID}'`,
      `UPDATE kept SET events = replace(events::text, 'operator', 'somebody')::json`,
      'ALTER TABLE event_runs ENABLE TRIGGER events_added',
      'INSERT INTO event_runs SELECT * FROM kept',
    );
    approvals = await system.start('approvals');
    expect((await until('it answers', check)).problems).toEqual([]);
    const now = await cli('audit', 'verify', '--keys', publicKeys);
    expect([now.code, now.out]).toEqual([
      1,
      expect.stringMatching(/rewritten +an anchor of .* has another hash: the log changed up to this line/),
    ]);
    const then = await cli('audit', 'verify', '--anchors', 'audit.jsonl');
    expect([then.code, then.out]).toEqual([1, expect.stringContaining('rewritten')]);
  });

  test('the service stops signing a log that differs from its last anchor, and logs an error', async () => {
    await untilTrue('there is an anchor', async () => (await anchors()) > 0);
    const { seq, hash } = JSON.parse(
      (await wholeLog()).findLast(({ type }) => type === 'audit_anchored')?.entry ?? '',
    ) as { seq: number; hash: string };
    await approvals.stop();
    await asOwner(
      `UPDATE audit SET hash = decode(repeat('f', 64), 'hex') WHERE seq = ${String(seq)} AND hash = '\\x${hash}'`,
    );
    await asOwner(`INSERT INTO event_runs VALUES (now(), 1, 'a-strange', null, '[{"type":"voted"}]')`);
    approvals = await system.start('approvals');
    const line = await until('it is logged', async () =>
      (await approvals.lines()).find(
        ({ msg }) => msg === 'the audit log differs from its last anchor: signing has stopped',
      ),
    );
    expect(line).toMatchObject({ level: 50, line: seq });
    expect((await wholeLog()).at(-1)).toMatchObject({ aggregate: 'a-strange' });
  });
});
