import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import { KEEP_DAYS } from '@holdpoint/contracts/api/retention';
import type { StepInput } from '@holdpoint/contracts/task/step';
import {
  artifactUriOf,
  type StoredArtifact,
  StoredArtifact as Stored,
} from '@holdpoint/contracts/effect/stored-artifact';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { askOwner, endDaysAgo } from '../../kit/tasks/aged.ts';
import { publish } from '../../kit/bus/consumers.ts';
import { commandLine } from '../../kit/command-line.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

const SHELL = 'cap.env.shell.command.run';
const ENDS: readonly string[] = ['applied', 'failed_clean', 'refused', 'cancelled'];
const run = promisify(execFile);

let system: System;
/** The only user that may order effects. */
let orderer: NatsConnection;
let keeper: { readonly stop: () => void };
let repository: string;
let executor: ServiceProcess;
const events: EffectEvent[] = [];

beforeAll(async () => {
  system = await createSystem();
  const folder = join(await realpath(system.folder), 'repositories');
  repository = join(folder, 'app');
  await mkdir(repository, { recursive: true });
  await run('git', ['init', '--quiet', '--initial-branch=main', repository]);
  keeper = await keepTopology({ connection: await system.connect('topology'), log: silentLogger() });
  // An executor with a new key waits for its enrolment.
  await system.start('approvals');
  executor = await system.spawn('executor', {
    env: { HOLDPOINT_REPOSITORIES: folder, HOLDPOINT_LOG_MAX_MIB: '256' },
  });
  await executor.started();
  orderer = await system.connect('orchestrator');
  system.client.connection.subscribe(filters.eventsOf('effect'), {
    callback: (_error, msg) => void events.push(msg.json<EffectEvent>()),
  });
  await system.client.connection.flush();
});
afterAll(async () => {
  keeper.stop();
  await system.stop();
});

/** Work as the orchestrator orders it: a script, in the repository. */
const scriptOf = (command: string): RunEffect => {
  const input = { with: { command }, repository, context: {} } satisfies StepInput;
  const effect: CanonicalEffect = sampleEffect({
    node: NodeId.parse('build'),
    uses: SHELL,
    args: input,
    kind: 'work',
    effectClass: 'idempotent',
    target: 'work',
    idempotencyKey: '1:run',
  });
  const id = effectIdOf(effect.task, effect.node, effect.idempotencyKey);
  return RunEffect.parse({ id, attempt: 1, effect, digest: effectDigest(effect) });
};
const endOf = ({ id }: RunEffect) =>
  until(`${id} has an end`, () => events.find((event) => event.id === id && ENDS.includes(event.type)));

const give = (order: RunEffect) =>
  publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));

/** The log that the outcome of a script names. */
const logOf = async (order: RunEffect): Promise<StoredArtifact> => {
  const end = await endOf(order);
  if (end.type !== 'applied') throw new Error(`it is ${end.type}: ${JSON.stringify(end)}`);
  return Stored.parse(end.outputs['log']);
};
const printed = async (
  command: string,
): Promise<{ readonly order: RunEffect; readonly log: StoredArtifact }> => {
  const order = scriptOf(command);
  await give(order);
  return { order, log: await logOf(order) };
};

const isStored = async ({ uri }: StoredArtifact): Promise<boolean> =>
  (await system.client.ask('executor', 'artifact', { uri })).stored;
const untilStored = (log: StoredArtifact) => untilTrue(`${log.uri} is stored`, () => isStored(log));
const rowsOf = <Row extends Record<string, unknown>>(
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> => askOwner<Row>(system.database, text, values);
const contentOf = async (sha256: string): Promise<Buffer> =>
  Buffer.concat(
    (
      await rowsOf<{ content: Buffer }>(
        `SELECT content FROM executor.object_chunks JOIN executor.objects USING (upload)
          WHERE sha256 = $1 ORDER BY part`,
        [sha256],
      )
    ).map(({ content }) => content),
  );
const countOf = async (table: 'objects' | 'object_chunks'): Promise<number> =>
  Number((await rowsOf<{ count: string }>(`SELECT count(*) FROM executor.${table}`))[0]?.count);
const sha256Of = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
const listed = async ({ effect: { task } }: RunEffect) =>
  (await system.client.ask('executor', 'artifacts', { task })).items;
/** Paths of the files that wait for their upload or are being written. */
const spooledIn = async (): Promise<readonly string[]> => {
  const state = `${system.workspace}.state`;
  const spools = (await readdir(state)).map((id) => join(state, id, 'spool'));
  const found = spools.map(async (spool) =>
    (await readdir(spool).catch(() => [])).map((file) => join(spool, file)),
  );
  return (await Promise.all(found)).flat();
};
const spooled = async (): Promise<readonly string[]> => (await spooledIn()).map((path) => basename(path));
const textOf = (log: Buffer): readonly string[] =>
  log
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /, ''));

describe('the log of a step', () => {
  test('the log of a step is stored under its digest, named in the outcome, and removed from the disk', async () => {
    const { order, log } = await printed('echo one; echo two >&2; sleep 0.1; echo three');
    await untilStored(log);
    const content = await contentOf(log.sha256);
    expect(sha256Of(content)).toBe(log.sha256);
    expect(content.length).toBe(log.bytes);
    expect(textOf(content).toSorted()).toEqual(['err | two', 'out | one', 'out | three']);
    expect(await listed(order)).toMatchObject([
      { ...log, name: 'build.1.run.log', task: order.effect.task, node: 'build', attempt: 1, step: 'run' },
    ]);
    await untilTrue('nothing waits', async () => (await spooled()).length === 0);
  });

  test('the stored log has every line, even those that the live stream dropped', async () => {
    const { log } = await printed('seq 1 20000');
    await untilStored(log);
    const lines = textOf(await contentOf(log.sha256));
    expect(lines).toEqual(Array.from({ length: 20_000 }, (_, i) => `out | ${String(i + 1)}`));
  });

  test('the stored log shows no secret of the executor', async () => {
    const seed = (
      await readFile(String(system.environment('executor')['HOLDPOINT_NATS_SEED_FILE']), 'utf8')
    ).trim();
    // The executor passes the secret to the script, which prints it.
    const { log } = await printed(`echo "it is ${seed}"; echo hpt_0123456789abcdef`);
    await untilStored(log);
    expect(textOf(await contentOf(log.sha256))).toEqual(['out | it is [hidden]', 'out | [hidden]']);
  });

  test('a step without output has no log', async () => {
    const order = scriptOf('true');
    await give(order);
    expect(await endOf(order)).toMatchObject({ type: 'applied', outputs: { outcome: 'succeeded' } });
    expect(await listed(order)).toEqual([]);
  });

  test('a log of 100 MB is never in memory as a whole', async () => {
    const memory = async (what: 'VmHWM' | 'VmRSS'): Promise<number> => {
      const status = await readFile(`/proc/${String(executor.pid())}/status`, 'utf8');
      return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024;
    };
    const before = await memory('VmRSS');
    const { log } = await printed(`yes ${'0123456789'.repeat(40)} | head -n 240000`);
    await untilStored(log);
    expect(log.bytes).toBeGreaterThan(100_000_000);
    expect((await memory('VmHWM')) - before).toBeLessThan(100);
    expect((await contentOf(log.sha256)).length).toBe(log.bytes);
  });
});

describe('an upload', () => {
  test('an upload that a crash interrupts is repeated: the log is stored once and complete', async () => {
    const isInTheMiddle = async (sha256: string, from: number): Promise<boolean> =>
      (await countOf('object_chunks')) > from && (await contentOf(sha256)).length === 0;
    let cutShort = 0;
    for (let tries = 0; tries < 10 && cutShort === 0; tries += 1) {
      const from = await countOf('object_chunks');
      const names = await countOf('objects');
      const { log } = await printed(`yes ${String(tries)}${'0123456789'.repeat(40)} | head -n 100000`);
      await untilTrue('the upload has begun', async () => (await countOf('object_chunks')) > from);
      executor.signal('SIGKILL');
      if (await isInTheMiddle(log.sha256, from)) cutShort += 1;
      await executor.started();
      await untilStored(log);
      expect(sha256Of(await contentOf(log.sha256))).toBe(log.sha256);
      expect(await countOf('objects')).toBe(names + 1);
    }
    expect(cutShort).toBe(1);
    await untilTrue('nothing waits', async () => (await spooled()).length === 0);
  });

  test('an upload waits while the store refuses it, and the waiting log can be read', async () => {
    await rowsOf('REVOKE INSERT ON executor.object_chunks FROM hp_executor');
    const { order, log } = await printed('echo while nobody stores');
    await untilTrue('the log waits', async () =>
      (await spooled()).some((file) => file.startsWith(`${order.id}.`)),
    );
    const { data } = await system.client.ask('executor', 'artifact', {
      uri: log.uri,
      offset: 0,
      limit: 1_024,
    });
    expect(textOf(Buffer.from(data ?? '', 'base64'))).toEqual(['out | while nobody stores']);
    await rowsOf('GRANT INSERT ON executor.object_chunks TO hp_executor');
    await untilStored(log);
  });

  test('the log of a killed executor keeps the output up to the kill', async () => {
    const order = scriptOf('echo the last words; sleep 60');
    await give(order);
    await untilTrue('it has printed', async () => {
      const part = (await spooledIn()).find((path) => path.includes(order.id) && path.endsWith('.part'));
      return part !== undefined && (await readFile(part, 'utf8')).includes('the last words');
    });
    executor.signal('SIGKILL');
    await executor.started();
    const [first] = await until('the log of the first start is listed', async () => {
      const items = (await listed(order)).filter(({ epoch }) => epoch === 1);
      return items.length === 0 ? undefined : items;
    });
    if (first === undefined) throw new Error('there is none');
    await untilStored(first);
    expect(textOf(await contentOf(first.sha256))).toEqual(['out | the last words']);
    const { id, attempt, effect } = order;
    const cancel = { id, task: effect.task, node: effect.node, attempt, reason: 'seen enough' };
    await publish(orderer, subjects.effectCommand('cancel', DEFAULT_POOL), JSON.stringify(cancel));
    expect(await endOf(order)).toMatchObject({ type: 'cancelled' });
  });
});

describe('a reader of artifacts', () => {
  const holdpoint = (...args: readonly string[]) => commandLine(system)(...args);

  test('a reader gets an error when the stored content is different', async () => {
    const { log } = await printed('echo true words');
    await untilStored(log);
    await rowsOf(
      `UPDATE executor.object_chunks SET content = 'false words'
        WHERE upload = (SELECT upload FROM executor.objects WHERE sha256 = $1)`,
      [log.sha256],
    );
    const range = { uri: log.uri, offset: 0, limit: 1_024 };
    await expect(system.client.ask('executor', 'artifact', range)).rejects.toMatchObject({
      code: 'EXECUTOR_UNKNOWN_ARTIFACT',
    });
    const { code, out, err } = await holdpoint('artifact', 'get', log.uri);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('is missing or damaged');
  });

  test('a reader gets an error for an unknown name', async () => {
    const uri = artifactUriOf('0'.repeat(64));
    await expect(system.client.ask('executor', 'artifact', { uri })).rejects.toMatchObject({
      code: 'EXECUTOR_UNKNOWN_ARTIFACT',
    });
  });

  test('the command line returns an artifact byte for byte, by its name and by that of its job', async () => {
    const { order, log } = await printed('seq 1 20000; printf "\\033[31mred"');
    await untilStored(log);
    const { task, node } = order.effect;
    const whole = (await contentOf(log.sha256)).toString('utf8');
    expect(await holdpoint('artifact', 'get', log.uri)).toEqual({ code: 0, out: whole, err: '' });
    expect((await holdpoint('artifact', 'get', `${task}/${node}`)).out).toBe(whole);
    const { out } = await holdpoint('artifact', 'list', task);
    expect(out).toContain(log.uri);
    expect(await holdpoint('artifact', 'get', log.uri, '-o', 'build.log')).toEqual({
      code: 0,
      out: '',
      err: '',
    });
    expect(await readFile(join(system.folder, 'build.log'), 'utf8')).toBe(whole);
    expect((await holdpoint('artifact', 'get', log.uri, '-o', 'build.log')).code).toBe(2);
  });
});

test('a log whose content is gone is reported as gone, and later logs are kept', async () => {
  const { log: lost } = await printed('echo lost');
  await untilStored(lost);
  await rowsOf('DELETE FROM executor.objects');
  const { log } = await printed('echo kept');
  await untilStored(log);
  expect(textOf(await contentOf(log.sha256))).toEqual(['out | kept']);
  expect(await isStored(lost)).toBe(false);
  const range = { uri: lost.uri, offset: 0, limit: 1_024 };
  await expect(system.client.ask('executor', 'artifact', range)).rejects.toMatchObject({
    code: 'EXECUTOR_UNKNOWN_ARTIFACT',
  });
});

test('the record of an artifact is purged with its effect', async () => {
  const { order, log } = await printed('echo old');
  const { order: young } = await printed('echo young');
  await untilStored(log);
  await endDaysAgo(system.database, 'executor', [order.id], KEEP_DAYS + 1);
  await askOwner(system.database, 'SELECT executor.purge(100)');
  expect(await listed(order)).toEqual([]);
  await untilTrue('the other is listed', async () => (await listed(young)).length === 1);
});
