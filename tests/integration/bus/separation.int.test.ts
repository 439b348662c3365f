import { SERVICES, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { layout, roleOf } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { connectAdmin } from '@holdpoint/infra/postgres/admin';
import { joinSecretFile, sealKeyFile } from '@holdpoint/runtime/service/config';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, PermissionViolationError } from '@nats-io/transport-node';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { grantFor, strangersKey } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
  await system.startAll();
});
afterAll(() => system.stop());

/** The permission errors of a user. */
const watchRefusals = (
  connection: NatsConnection,
): { readonly next: () => Promise<PermissionViolationError> } => {
  const seen: PermissionViolationError[] = [];
  const listen = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === 'error' && status.error instanceof PermissionViolationError)
        seen.push(status.error);
    }
  };
  void listen();
  return { next: () => until('the server refuses it', () => seen.shift()) };
};

describe('the bus', () => {
  test.each([
    ['approvals', subjects.event('task', 'completed', 't-1')],
    ['executor', subjects.event('task', 'completed', 't-1')],
    ['recovery', subjects.event('task', 'completed', 't-1')],
    ['executor', subjects.event('approval', 'resolved', 'a-1')],
    ['orchestrator', subjects.event('approval', 'resolved', 'a-1')],
    ['orchestrator', subjects.event('effect', 'applied', 'e-1')],
    ['approvals', subjects.effectCommand('run', DEFAULT_POOL)],
    ['recovery', subjects.effectCommand('run', DEFAULT_POOL)],
    ['executor', subjects.taskCommand('recover')],
  ] as const)('the bus refuses %s that publishes %s', async (user, subject) => {
    const connection = await system.connect(user);
    const refusals = watchRefusals(connection);
    const manager = await jetstreamManager(system.client.connection, { checkAPI: false });
    const stored = async (): Promise<number> =>
      (await Promise.all(['HP_CMD', 'HP_EVT'].map((name) => manager.streams.info(name)))).reduce(
        (sum, { state }) => sum + state.messages,
        0,
      );
    const before = await stored();
    connection.publish(subject, '{}');
    expect(await refusals.next()).toMatchObject({ operation: 'publish', subject });
    await connection.flush();
    expect(await stored()).toBe(before);
  });
});

describe('a forged message', () => {
  test('an approval without a grant of the approvals service starts no effect', async () => {
    const { client } = system;
    const task = await submitSample(client);
    const { effect } = await waitForRequest(client, task);
    const at = Date.now();
    const resolved = {
      type: 'resolved',
      id: task.approval,
      task: task.id,
      node: 'append',
      revision: 1,
      outcome: 'approved',
      by: 'operator',
      grant: grantFor(strangersKey(), effect),
      validUntil: at + 3_600_000,
      at,
    };
    const approvals = await system.connect('approvals');
    await publish(approvals, subjects.event('approval', 'resolved', task.approval), JSON.stringify(resolved));
    const refused = await until('the executor refuses the order', async () =>
      (await client.ask('executor', 'list', { task: task.id })).items.find(
        ({ state }) => state === 'refused',
      ),
    );
    expect(refused).toMatchObject({ id: task.effect, starts: 0 });
    const failed = await until('the event of the task arrives', async () =>
      (await client.ask('orchestrator', 'history', { id: task.id })).events.find(
        ({ type }) => type === 'node_failed',
      ),
    );
    expect(failed.data).toMatchObject({ error: { code: 'EXECUTOR_GRANT_INVALID' } });
    expect((await appliedByKey(system.workspace)).has(task.effect)).toBe(false);
    expect((await client.ask('approvals', 'get', { id: task.approval })).status).toBe('pending');
  });
});

describe('the database', () => {
  const connectService = async (service: ServiceName): Promise<Client> => {
    const role = roleOf(service);
    const password = await readPostgresPassword(system.run.credentialsDir, role);
    return connectAdmin({ ...system.database.admin, user: role, password });
  };
  const attempt = async (service: ServiceName, statements: readonly string[]): Promise<readonly string[]> => {
    const client = await connectService(service);
    try {
      const codes: string[] = [];
      for (const statement of statements) {
        codes.push(
          await client.query(statement).then(
            () => 'done',
            (error: unknown) => String((error as { code?: string }).code),
          ),
        );
      }
      return codes;
    } finally {
      await client.end();
    }
  };
  const DENIED = '42501';

  const pairs = SERVICES.flatMap((service) =>
    SERVICES.filter((other) => other !== service).map((other) => [service, other] as const),
  );

  test.each(pairs)('%s can neither read nor write the tables of %s', async (service, other) => {
    const event = `(aggregate, first, at, events) VALUES ('x', 1, now(), '[]')`;
    const codes = await attempt(service, [
      `SELECT * FROM ${other}.events, ${other}.event_runs`,
      `SELECT * FROM ${other}.heads`,
      `INSERT INTO ${other}.event_runs ${event}`,
      `UPDATE ${other}.heads SET version = 99`,
      `DELETE FROM ${other}.timers`,
      `INSERT INTO ${other}.outbox (messages, event_ranges) VALUES ('[]', '[]')`,
      `CREATE TABLE ${other}.mine (id int)`,
      `DROP TABLE ${other}.event_runs`,
    ]);
    expect(codes).toEqual(codes.map(() => DENIED));
  });

  test.each(SERVICES)('%s can add events, and never change or delete one', async (service) => {
    const codes = await attempt(service, [
      `INSERT INTO event_runs (aggregate, first, at, events) VALUES ('separation', 1, now(), '[{"type":"x"}]')`,
      `SELECT * FROM events WHERE aggregate = 'separation'`,
      `UPDATE event_runs SET events = '[{"forged":true}]' WHERE aggregate = 'separation'`,
      `DELETE FROM event_runs WHERE aggregate = 'separation'`,
      `TRUNCATE event_runs`,
      `ALTER TABLE event_runs ADD COLUMN x int`,
      `DROP TABLE event_runs`,
      `CREATE TABLE mine (id int)`,
      `CREATE TABLE public.mine (id int)`,
      `SET ROLE hp_owner`,
      `CREATE ROLE friend`,
    ]);
    expect(codes).toEqual(['done', 'done', ...codes.slice(2).map(() => DENIED)]);
  });

  test.each(pairs)('%s cannot log in as %s', async (service, other) => {
    const password = await readPostgresPassword(system.run.credentialsDir, roleOf(service));
    const stranger = connectAdmin({ ...system.database.admin, user: roleOf(other), password });
    await expect(stranger).rejects.toThrow(/password authentication failed/);
  });
});

test('each service can read its own secrets and needs no others', () => {
  const files = layout(system.run.credentialsDir);
  const secrets: Readonly<Record<ServiceName, readonly string[]>> = {
    orchestrator: [
      files.natsSeed('orchestrator'),
      files.natsSeed('topology'),
      files.postgresPassword('hp_orchestrator'),
      files.sealKey('orchestrator'),
    ],
    approvals: [
      files.natsSeed('approvals'),
      files.postgresPassword('hp_approvals'),
      files.grantKey,
      files.principals,
      files.joinSecret,
    ],
    executor: [files.natsSeed('executor'), files.postgresPassword('hp_executor'), files.joinSecret],
    recovery: [files.natsSeed('recovery'), files.postgresPassword('hp_recovery'), files.sealKey('recovery')],
  };
  /** No setting names these: each service looks for them beside the trust file. */
  const env = { HOLDPOINT_TRUST_FILE: files.trust };
  const beside = (service: ServiceName): string =>
    service === 'orchestrator' || service === 'recovery' ? sealKeyFile(service, env) : joinSecretFile(env);
  for (const service of SERVICES) {
    const named = Object.values(system.environment(service)).filter((value) => value?.startsWith(files.dir));
    // Public keys only: no secret.
    const read = new Set([...named, beside(service)]);
    expect(read.delete(files.trust)).toBe(true);
    expect(read).toEqual(new Set(secrets[service]));
  }
});
