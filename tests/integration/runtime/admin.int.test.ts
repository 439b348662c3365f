import { api } from '@holdpoint/contracts/catalog/api';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { migrationsIn } from '@holdpoint/runtime/service/admin';
import { root } from '@holdpoint/infra/local/folders';
import { jetstreamManager } from '@nats-io/jetstream';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endDaysAgo } from '../../kit/tasks/aged.ts';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, type SampleTask, submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';

let system: System;
beforeEach(async () => {
  system = await createSystem();
});
afterEach(() => system.stop());

const Report = z.object({
  ok: z.boolean(),
  failures: z.int(),
  checks: z.array(
    z.object({ check: z.string(), status: z.string(), message: z.string(), action: z.string().optional() }),
  ),
});

const doctor = async (more: NodeJS.ProcessEnv = {}) => {
  const { code, out } = await commandLine(system, undefined, more)('admin', 'doctor', '--json');
  const report = Report.parse(JSON.parse(out));
  return { code, ...report, of: (check: string) => report.checks.find((each) => each.check === check) };
};

describe('doctor', () => {
  test('doctor finds no problem in a healthy system', async () => {
    await system.startAll();
    const { code, ok, checks, of } = await doctor();
    expect(checks.filter(({ status }) => status === 'fail')).toEqual([]);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    for (const service of SERVICES) {
      expect(of(`service ${service}`)).toMatchObject({ status: 'ok' });
      expect(of(`migrations ${service}`)).toMatchObject({ status: 'ok' });
    }
    for (const check of [
      'nats',
      'database',
      'clock database',
      'stream HP_CMD',
      'consumer orchestrator',
      'jetstream disk',
    ])
      expect(of(check), check).toMatchObject({ status: 'ok' });
    expect(of('identity')?.message).toMatch(/operator/);
    const { out } = await commandLine(system)('admin', 'doctor');
    expect(out).toMatch(/^ok +nats +NATS /m);
  });

  test('doctor names the service that is away and the remedy', async () => {
    await system.start('orchestrator');
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('service recovery')).toMatchObject({
      status: 'fail',
      action: expect.stringContaining('start it') as unknown,
    });
    expect(of('service orchestrator')).toMatchObject({ status: 'ok' });
  });

  test('doctor reports pending migrations and those of a later release', async () => {
    await withAdmin(system.database.admin, async (client) => {
      await client.query(`DELETE FROM recovery.kysely_migration WHERE name = '0001_schema'`);
      await client.query(
        `INSERT INTO executor.kysely_migration (name, timestamp) VALUES ('9999_later', now()::text)`,
      );
    });
    await system.startAll();
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('migrations recovery')).toMatchObject({
      status: 'fail',
      message: 'pending: 0001_schema',
      action: expect.stringContaining('holdpoint provision postgres') as unknown,
    });
    expect(of('migrations executor')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('9999_later') as unknown,
    });
  });

  test('upgrade --check names what an upgrade changes, and a database that is newer than the program', async () => {
    await system.startAll();
    const upgrade = commandLine(system);
    expect(await upgrade('upgrade', '--check')).toMatchObject({ code: 0, err: '' });
    const change = (text: string): Promise<unknown> =>
      withAdmin(system.database.admin, (client) => client.query(text));
    await change(`UPDATE recovery.kysely_migration SET name = '0000_older' WHERE name = '0001_schema'`);
    expect(await upgrade('upgrade', '--check')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^error CLI_PROGRAM_TOO_OLD: the database of recovery has 0000_older: .*\n$/,
      ) as unknown,
    });
    await change(`DELETE FROM recovery.kysely_migration WHERE name = '0000_older'`);
    const { code, out } = await upgrade('upgrade', '--check');
    expect(code).toBe(1);
    expect(out).toMatch(/^database recovery +apply 0001_schema: .*\nupgrade to .*: 1 changes, /);
  });

  test('doctor finds streams and consumers that are missing or differ from their declaration', async () => {
    await system.stop();
    system = await createSystem({ almightyMonitor: true });
    const { orchestrator } = await system.startAll();
    await orchestrator.stop();
    const manager = await jetstreamManager(await system.connect('monitor'));
    await manager.streams.delete('HP_LOG');
    await manager.consumers.delete('HP_CMD', 'recovery');
    await manager.streams.update('HP_WORK', { max_age: 0 });
    const { of } = await doctor();
    expect(of('stream HP_LOG')).toMatchObject({ status: 'fail', message: 'does not exist' });
    expect(of('consumer recovery')).toMatchObject({ status: 'fail' });
    expect(of('stream HP_WORK')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('max_age') as unknown,
    });
  });

  test('doctor names the check for a bus that is away', async () => {
    const { code, checks } = await doctor({ HOLDPOINT_NATS_URL: 'nats://127.0.0.1:1' });
    expect(code).toBe(1);
    expect(checks).toEqual([
      {
        check: 'nats',
        status: 'fail',
        message: expect.stringContaining('RUNTIME_UNAVAILABLE') as unknown,
        action: expect.any(String) as unknown,
      },
    ]);
  });

  test('doctor tells an unknown token from a missing one', async () => {
    await system.startAll();
    const wrong = await doctor({ HOLDPOINT_TOKEN: 'hpt_nobody' });
    expect(wrong.of('identity')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('APPROVALS_UNAUTHENTICATED') as unknown,
    });
    const none = await doctor({ HOLDPOINT_TOKEN_FILE: '' });
    expect(none.of('identity')).toMatchObject({ status: 'warn' });
    expect(none.code).toBe(0);
  });
});

test('every service reports its version and has applied all its migrations', async () => {
  await system.startAll();
  for (const service of SERVICES) {
    const about = api[service].info.response.parse(await system.client.ask(service, 'info', {}));
    const known = migrationsIn(join(root, 'services', service, 'migrations'));
    expect(about).toMatchObject({ service, migrations: { applied: known, pending: [], unknown: [] } });
    expect(Math.abs(about.database.clock - Date.now())).toBeLessThan(60_000);
  }
});

/** As if all of it had ended so many days ago. */
const ago = async ({ id, approval, effect }: SampleTask, days: number): Promise<void> => {
  await endDaysAgo(system.database, 'orchestrator', [id], days);
  await endDaysAgo(system.database, 'approvals', [approval], days);
  await endDaysAgo(system.database, 'executor', [effect], days);
};

describe('gc', () => {
  test('gc shows the effect of other retention days and removes only what the policy allows', async () => {
    await system.startAll();
    const holdpoint = commandLine(system);
    const task = await submitSample(system.client);
    await approveAndComplete(system.client, task);
    await ago(task, 30);
    const shown = await holdpoint('admin', 'gc');
    expect(shown.out).toMatch(/^tasks +90 days +0 /m);
    expect(shown.out).toContain('Audit log');
    const asIf = await holdpoint('admin', 'gc', '--keep', '7');
    expect(asIf.out).toMatch(/^tasks +90 days +1 /m);
    expect(asIf.out).toContain('HOLDPOINT_KEEP_DAYS=7');
    expect((await holdpoint('admin', 'gc', '--apply')).out).toMatch(
      /^purged: approvals 0, executor 0, recovery 0, orchestrator 0$/m,
    );
    expect(await system.client.ask('orchestrator', 'get', { id: task.id })).toMatchObject({
      phase: 'completed',
    });
    await ago(task, 120);
    const { out } = await holdpoint('admin', 'gc', '--apply', '--json');
    const { audit } = z.object({ audit: z.string() }).parse(JSON.parse(out));
    expect(audit).toBe('kept');
    await expect(system.client.ask('orchestrator', 'get', { id: task.id })).rejects.toMatchObject({
      code: 'ORCHESTRATOR_UNKNOWN_TASK',
    });
    const { rows } = await withAdmin(system.database.admin, (client) =>
      client.query(`SELECT FROM approvals.audit WHERE aggregate = $1`, [task.approval]),
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  test('gc refuses a retention below the minimum and changes no policy', async () => {
    const holdpoint = commandLine(system);
    expect(await holdpoint('admin', 'gc', '--keep', '3')).toMatchObject({
      code: 2,
      err: expect.stringContaining('from 4') as unknown,
    });
    expect(await holdpoint('admin', 'gc', '--keep', '30', '--apply')).toMatchObject({
      code: 2,
      err: expect.stringContaining('HOLDPOINT_KEEP_DAYS=30') as unknown,
    });
  });
});

describe('top', () => {
  test('top shows all pending work in one frame', async () => {
    await system.startAll();
    const holdpoint = commandLine(system);
    const [done, waiting] = [await submitSample(system.client), await submitSample(system.client)];
    await approveAndComplete(system.client, done);
    await waitForRequest(system.client, waiting);
    const { code, out } = await holdpoint('admin', 'top', '--once');
    expect(code).toBe(0);
    expect(out).toMatch(/4 of 4 services/);
    expect(out).toMatch(/awaiting_approval 1/);
    expect(out).toMatch(/completed 1/);
    expect(out).toMatch(/^APPROVALS +pending 1 · oldest \d+ \w+: /m);
    expect(out).toMatch(/applied 1/);
    expect(out).toMatch(/events \d+\.\d\/s/);
    const rows = out.split('\n');
    expect(rows.length).toBeLessThanOrEqual(24);
    expect(rows.filter((row) => row.length > 80)).toEqual([]);
  });

  test('top names the service that is away', async () => {
    await system.start('orchestrator');
    const { code, out } = await commandLine(system)('admin', 'top', '--once');
    expect(code).toBe(0);
    expect(out).toMatch(/1 of 4 services\naway: approvals, executor, recovery/);
    expect(out).toMatch(/^EFFECTS +unknown: no answer$/m);
  });
});
