import type { KeyObject } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { httpTarget, type Target } from '@holdpoint/executor/testing/http-target';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { approveCrowd, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { type PostgresServer, startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { preparePostgres } from '../../kit/stack/prepare-postgres.ts';
import { type Backup, backUpDatabase, backUpFiles } from '../../kit/stack/restore.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { type SampleTask, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);
const FILE = 'orders.txt';

let postgres: PostgresServer;
let system: System;
let key: KeyObject;
let orderer: NatsConnection;
let target: Target;

beforeEach(async () => {
  const { backend, folder: runFolder, credentialsDir } = currentRun();
  const folder = join(runFolder, `restored-${crypto.randomUUID().slice(0, 8)}`);
  await mkdir(folder);
  postgres = await startPostgresServer(backend, { folder, runFolder, credentialsDir });
  await preparePostgres(postgres.admin, credentialsDir);
  system = await createSystem({ admin: postgres.admin });
  key = await readGrantKey(credentialsDir);
  target = await httpTarget((response) => void response.end('done'));
});
afterEach(async () => {
  await target.stop();
  await system.stop();
  await postgres.remove();
});

/** Each executor has a journal of its own, as on separate machines. */
const startExecutor = (journal: string): Promise<ServiceInProcess> =>
  system.start('executor', {
    HOLDPOINT_JOURNAL_DIR: join(system.folder, journal),
    HOLDPOINT_HTTP_TARGETS: target.origin,
  });

const startOrdering = async (): Promise<void> => {
  // The orchestrator only creates the streams: the test sends the orders. The approvals service vouches for the
  // keys with which executors seal their answers.
  await Promise.all([system.start('orchestrator'), system.start('approvals')]);
  orderer = await system.connect('orchestrator');
};

const give = (orders: readonly RunEffect[]) =>
  Promise.all(orders.map((order) => publish(orderer, RUN, JSON.stringify(order))));

const approved = (change: Partial<CanonicalEffect> = {}): RunEffect => {
  const effect = sampleEffect(change);
  return orderFor(effect, grantFor(key, effect));
};
const some = (count: number, make: () => RunEffect): readonly RunEffect[] =>
  Array.from({ length: count }, make);
/** A target without idempotency keys. */
const opaque = (): RunEffect =>
  approved({
    uses: 'cap.http.request',
    args: { method: 'POST', url: `${target.origin}/`, body: crypto.randomUUID() },
    effectClass: 'opaque',
    target: target.origin,
  });

/** The ledger events of every effect, in order. */
const eventsById = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { rows } = await withAdmin(
    system.database.admin,
    (client) =>
      client.query<{ id: string; types: string[] }>(
        'SELECT aggregate AS id, array_agg(type ORDER BY version) AS types FROM executor.events GROUP BY aggregate',
      ),
    60_000,
  );
  return new Map(rows.map(({ id, types }) => [id, types]));
};
const allAre = (orders: readonly RunEffect[], state: string) =>
  untilTrue(`all are ${state}`, async () => {
    for (const { id } of orders) {
      const now = await system.client.ask('executor', 'get', { id });
      if (now.state !== state) throw new Error(`${id} is ${now.state}: ${now.reason ?? 'no reason'}`);
    }
    return true;
  });
const timesApplied = async (orders: readonly { readonly id: string }[]): Promise<readonly number[]> => {
  const applied = await appliedByKey(system.workspace, FILE);
  return orders.map(({ id }) => applied.get(id) ?? 0);
};
const isReady = async ({ httpPort }: ServiceInProcess): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${String(httpPort)}/readyz`)).ok;
const journalOf = async (executor: ServiceInProcess): Promise<string> =>
  until('the executor has a journal', async () => {
    const line = (await executor.lines()).find(({ msg }) => msg === 'effects may start');
    return typeof line?.['journal'] === 'string' ? line['journal'] : undefined;
  });

type Taken = () => Promise<Backup>;
const backups: readonly (readonly [string, Taken])[] = [
  ['the files of the server', () => backUpFiles(postgres)],
  ['the database', () => backUpDatabase(system.database)],
];

describe.each(backups)('a restore from a backup of %s', (_what, backUp) => {
  test.each([
    ['while the executor runs', false],
    ['while the executor is stopped', true],
  ])(
    'after a restore %s, later effects are in doubt before any effect starts, and none is repeated',
    async (_how, stopped) => {
      await startOrdering();
      const executor = await startExecutor('journal');
      const [known, told] = [some(3, approved), some(3, opaque)];
      await give([...known, ...told]);
      await allAre([...known, ...told], 'applied');
      const backup = await backUp();
      const [keyed, unknown] = [some(20, approved), some(20, opaque)];
      await give([...keyed, ...unknown]);
      await allAre([...keyed, ...unknown], 'applied');

      if (stopped) await executor.stop();
      await backup.putBack();
      await give([...unknown, ...keyed]);
      if (stopped) await startExecutor('journal');
      const fresh = some(3, approved);
      await give(fresh);

      await allAre([...keyed, ...fresh], 'applied');
      await allAre(unknown, 'in_doubt');
      await untilHandled(system.client.connection, ['orchestrator', 'executor']);
      const events = await eventsById();
      const before = (type: string, { id }: RunEffect): readonly string[] => {
        const types = events.get(id) ?? [];
        return types.slice(0, types.indexOf(type));
      };
      expect(keyed.filter((order) => !before('started', order).includes('in_doubt'))).toEqual([]);
      expect(unknown.filter(({ id }) => events.get(id)?.includes('started'))).toEqual([]);
      const remembered = [...known, ...told].map(({ id }) => events.get(id));
      expect(remembered.filter((types) => types?.includes('in_doubt') !== false)).toEqual([]);
      expect(await timesApplied([...known, ...keyed, ...fresh])).toEqual(Array.from({ length: 26 }, () => 1));
      expect(target.received).toHaveLength(23);
    },
  );
});

test('a completed task may be approved again after a restore, and its effect is not repeated', async () => {
  await system.startAll();
  const waiting = await submitCrowd(system, 10);
  const backup = await backUpDatabase(system.database);
  const done = async (tasks: readonly SampleTask[]): Promise<void> => {
    await approveCrowd(system, tasks);
    await Promise.all(tasks.map(({ id }) => waitForPhase(system.client, id, 'completed')));
  };
  await done(waiting);
  await done(await submitCrowd(system, 5));
  await backup.putBack();
  await done(waiting);
  await done(await submitCrowd(system, 3));
  const applied = [...(await appliedByKey(system.workspace)).values()];
  expect(applied).toEqual(Array.from({ length: 18 }, () => 1));
  const events = await eventsById();
  expect(waiting.map(({ effect }) => events.get(effect)?.slice(0, 2))).toEqual(
    waiting.map(() => ['prepared', 'in_doubt']),
  );
});

describe('a missing journal', () => {
  /** One executor runs all effects and stops; then the ledger is restored. */
  const lose = async (backUpFirst: () => Promise<Backup>) => {
    await startOrdering();
    const backup = await backUpFirst();
    const gone = await startExecutor('elsewhere');
    const lost = some(5, approved);
    await give(lost);
    await allAre(lost, 'applied');
    return { lost, gone, backup };
  };
  const waits = (executor: ServiceInProcess) =>
    untilTrue('it waits', async () =>
      (await executor.lines()).some(({ msg }) => msg.startsWith('no effect starts until these')),
    );

  test('orders wait for a missing journal, and all continue once it is back', async () => {
    const known = async (): Promise<Backup> => {
      const first = await startExecutor('elsewhere');
      await journalOf(first);
      await first.stop();
      return backUpDatabase(system.database);
    };
    const { lost, gone, backup } = await lose(known);
    await gone.stop();
    await backup.putBack();
    const other = await startExecutor('here');
    const orders = [...lost, ...some(3, approved)];
    await waits(other);
    await give(orders);
    await allAre(orders, 'prepared');
    expect(await isReady(other)).toBe(false);
    expect(await timesApplied(orders)).toEqual([1, 1, 1, 1, 1, 0, 0, 0]);

    await startExecutor('elsewhere');
    await allAre(orders, 'applied');
    await untilTrue('it is ready', () => isReady(other));
    expect(await timesApplied(orders)).toEqual(orders.map(() => 1));
  });

  test('an executor waits for a journal that it has seen, even if the backup does not know it', async () => {
    let other: ServiceInProcess | undefined;
    const { lost, gone, backup } = await lose(async () => {
      other = await startExecutor('here');
      await journalOf(other);
      return backUpDatabase(system.database);
    });
    const name = await journalOf(gone);
    await untilTrue('it has been seen', async () => {
      return (await readFile(join(system.folder, 'here', '1', 'journal.json'), 'utf8')).includes(name);
    });
    await gone.stop();
    await backup.putBack();
    await give(lost);
    if (other !== undefined) await waits(other);
    await untilHandled(system.client.connection, ['orchestrator', 'executor']);
    const waiting = await eventsById();
    expect(lost.filter(({ id }) => waiting.get(id)?.includes('started') !== false)).toEqual([]);
    await startExecutor('elsewhere');
    await allAre(lost, 'applied');
    const events = await eventsById();
    expect(lost.filter(({ id }) => !events.get(id)?.includes('in_doubt'))).toEqual([]);
  });

  test('an operator’s word that a journal is gone ends the wait for it', async () => {
    const { lost, gone, backup } = await lose(async () => {
      const first = await startExecutor('elsewhere');
      await journalOf(first);
      await first.stop();
      return backUpDatabase(system.database);
    });
    const name = await journalOf(gone);
    await gone.stop();
    await backup.putBack();
    const other = await startExecutor('here');
    await waits(other);
    await withAdmin(system.database.admin, (client) =>
      client.query(`SELECT executor.forget_instance($1, 'its disk is broken')`, [name]),
    );
    await untilTrue('effects start', () => isReady(other));
    const fresh = some(2, approved);
    await give(fresh);
    await allAre(fresh, 'applied');

    // A journal that returns later is still read.
    await startExecutor('elsewhere');
    await allAre(lost, 'applied');
    const events = await eventsById();
    expect(lost.filter(({ id }) => !events.get(id)?.includes('in_doubt'))).toEqual([]);
  });

  test('a journal on the same machine needs no wait: a running executor reads it', async () => {
    await startOrdering();
    const [first, second] = [await startExecutor('shared'), await startExecutor('shared')];
    await Promise.all([journalOf(first), journalOf(second)]);
    const backup = await backUpDatabase(system.database);
    const lost = some(20, approved);
    await give(lost);
    await allAre(lost, 'applied');
    await first.stop();
    await backup.putBack();
    await give(lost);
    await allAre(lost, 'applied');
    const events = await eventsById();
    expect(lost.filter(({ id }) => !events.get(id)?.includes('in_doubt'))).toEqual([]);
    expect(await timesApplied(lost)).toEqual(lost.map(() => 1));
  });
});
