import { execFile } from 'node:child_process';
import { mkdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { logSource } from '@holdpoint/cli/bus/logs';
import { effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { LogLine } from '@holdpoint/contracts/task/log';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { publish } from '../../kit/bus/consumers.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);
const CANCEL = subjects.effectCommand('cancel', DEFAULT_POOL);
const MERGE = 'cap.env.builtin.git.integrate_plan_branch';
const SHELL = 'cap.env.shell.command.run';
const run = promisify(execFile);

let system: System;
/** The only user that may order effects. */
let orderer: NatsConnection;
let repository: string;
let executor: ServiceProcess;
const events: EffectEvent[] = [];
const heard = new Set<string>();

beforeAll(async () => {
  system = await createSystem();
  const folder = join(await realpath(system.folder), 'repositories');
  repository = join(folder, 'app');
  await mkdir(repository, { recursive: true });
  await run('git', ['init', '--quiet', '--initial-branch=main', repository]);
  const keeper = await keepTopology({ connection: await system.connect('topology'), log: silentLogger() });
  // An executor with a new key waits for its enrolment.
  await system.start('approvals');
  // Without a process namespace the process id of a script is visible to all, and the script outlives a
  // killed executor.
  const env = { HOLDPOINT_REPOSITORIES: folder, HOLDPOINT_WORK: 'unconfined' };
  executor = await system.spawn('executor', { env });
  await executor.started();
  keeper.stop();
  orderer = await system.connect('orchestrator');
  system.client.connection.subscribe(filters.eventsOf('effect'), {
    callback: (_error, msg) => {
      // The next process publishes unconfirmed messages again, with the same id of the event.
      const id = msg.headers?.get('ce-id') ?? '';
      if (heard.has(id)) return;
      heard.add(id);
      events.push(msg.json<EffectEvent>());
    },
  });
  await system.client.connection.flush();
});
afterAll(() => system.stop());

/** Work as the orchestrator orders it: a script, in the repository. */
const scriptOf = (command: string, changes: Partial<CanonicalEffect> = {}): CanonicalEffect => {
  const input = { with: { command }, repository, context: {} } satisfies StepInput;
  return sampleEffect({
    node: NodeId.parse('build'),
    uses: SHELL,
    args: input,
    kind: 'work',
    effectClass: 'idempotent',
    target: 'work',
    idempotencyKey: '1:run',
    ...changes,
  });
};
const bare = (effect: CanonicalEffect, changes: Partial<RunEffect> = {}): RunEffect =>
  RunEffect.parse({
    id: effectIdOf(effect.task, effect.node, effect.idempotencyKey),
    attempt: 1,
    effect,
    digest: effectDigest(effect),
    ...changes,
  });

const give = (order: RunEffect) => publish(orderer, RUN, JSON.stringify(order));
const cancel = ({ id, attempt, effect: { task, node } }: RunEffect) =>
  publish(orderer, CANCEL, JSON.stringify({ id, task, node, attempt, reason: 'not wanted' }));
const eventsOf = ({ id }: RunEffect): readonly EffectEvent[] => events.filter((event) => event.id === id);
const typesOf = (order: RunEffect): readonly string[] => eventsOf(order).map(({ type }) => type);
const ENDS: readonly string[] = ['applied', 'failed_clean', 'refused', 'cancelled'];
const endOf = (order: RunEffect) =>
  until(`${order.id} has an end`, () => eventsOf(order).find(({ type }) => ENDS.includes(type)));
const contentOf = (file: string): Promise<string> => readFile(join(repository, file), 'utf8');

/** The output of a step, as a late reader gets it. */
const printed = async ({ effect: { task, node } }: RunEffect, count: number): Promise<readonly LogLine[]> => {
  const source = logSource(system.client.connection, task, node);
  return until(`${node} has printed ${String(count)} lines`, async () => {
    const lines: LogLine[] = [];
    await source.read(0, (line) => void lines.push(line));
    return lines.length < count ? undefined : lines;
  });
};

describe('an order for work', () => {
  test('work runs without a grant, and its output can be read', async () => {
    const order = bare(
      scriptOf('echo one; echo hpt_0123456789abcdef >&2; printenv | grep HOLDPOINT_NATS; echo end'),
    );
    await give(order);
    expect(await endOf(order)).toMatchObject({
      type: 'applied',
      outputs: { outcome: 'succeeded', exitCode: 0 },
    });
    const lines = await printed(order, 3);
    const about = { attempt: 1, step: 'run' };
    expect(lines.toSorted((a, b) => a.line.localeCompare(b.line))).toMatchObject([
      { ...about, stream: 'stderr', line: '[hidden]' },
      { ...about, stream: 'stdout', line: 'end' },
      { ...about, stream: 'stdout', line: 'one' },
    ]);
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  test('work that fails is recorded as executed, with its error', async () => {
    const order = bare(scriptOf('echo wrong >&2; exit 3'));
    await give(order);
    expect(await endOf(order)).toMatchObject({
      type: 'applied',
      outputs: { outcome: 'failed', exitCode: 3, hint: expect.stringContaining('wrong') as string },
    });
  });

  test('work in a folder that is not allowed fails, and the error names the setting', async () => {
    const elsewhere = await realpath(system.workspace);
    const order = bare(
      scriptOf('touch here', { args: { with: { command: 'true' }, repository: elsewhere, context: {} } }),
    );
    await give(order);
    expect(await endOf(order)).toMatchObject({
      type: 'failed_clean',
      error: { message: expect.stringContaining('HOLDPOINT_REPOSITORIES') as string },
    });
  });
});

describe('an order without a grant', () => {
  const merge = (changes: Partial<CanonicalEffect> = {}) =>
    scriptOf('true', { uses: MERGE, kind: 'merge', effectClass: 'fenced', ...changes });
  const wrong: readonly (readonly [string, () => RunEffect])[] = [
    ['a merge', () => bare(merge())],
    ['a merge that claims to be work', () => bare(merge({ kind: 'work' }))],
    [
      'a merge that claims to be idempotent work',
      () => bare(merge({ kind: 'work', effectClass: 'idempotent' })),
    ],
    ['a script that is an effect', () => bare(scriptOf('touch deployed', { kind: 'deploy' }))],
    ['a line in a file', () => bare(sampleEffect())],
    [
      'work under the digest of other work',
      () => bare(scriptOf('touch digest'), { digest: effectDigest(scriptOf('true')) }),
    ],
  ];
  test.each(wrong)(
    'an order without a grant for %s is refused, recorded and not executed',
    async (_, make) => {
      const order = make();
      await give(order);
      expect(await endOf(order)).toMatchObject({
        type: 'refused',
        error: { code: 'EXECUTOR_GRANT_INVALID' },
      });
      expect(await system.client.ask('executor', 'get', { id: order.id })).toMatchObject({
        state: 'refused',
        starts: 0,
      });
      await expect(contentOf('deployed')).rejects.toThrow('ENOENT');
      await expect(contentOf('digest')).rejects.toThrow('ENOENT');
    },
  );
});

test('work with a grant is refused, because only effects are approved', async () => {
  const effect = scriptOf('touch granted');
  const order = orderFor(effect, grantFor(await readGrantKey(system.run.credentialsDir), effect));
  await give(order);
  expect(await endOf(order)).toMatchObject({ type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID' } });
});

describe('running work', () => {
  const isGone = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  const pidIn = async (file: string): Promise<number> =>
    until(`${file} is written`, async () => Number(await contentOf(file)) || undefined);

  test('cancelled work ends without a question', async () => {
    const order = bare(scriptOf('echo $$ > called-off; sleep 600'));
    await give(order);
    const pid = await pidIn('called-off');
    await cancel(order);
    expect(await endOf(order)).toMatchObject({ type: 'cancelled' });
    expect(typesOf(order)).toEqual(['started', 'cancelled']);
    await untilTrue('its process is gone', () => isGone(pid));
  });

  /** Prints the number of its start, and ends the second time. */
  const twice = (name: string): string =>
    `echo start >> ${name}-starts; echo $$ > ${name}; [ "$(wc -l < ${name}-starts)" -gt 1 ] || sleep 600`;
  const INTERRUPTED = ['started', 'in_doubt', 'started', 'applied'];

  test('work of a stopped executor ends and is repeated by the next one', async () => {
    const order = bare(scriptOf(twice('stopped')));
    await give(order);
    const pid = await pidIn('stopped');
    const lives = executor.exits().length;
    executor.signal('SIGTERM');
    await untilTrue('the executor has ended', () => executor.exits().length > lives);
    expect(executor.exits().at(-1)).toMatchObject({ code: 0 });
    expect(isGone(pid)).toBe(true);
    expect(await endOf(order)).toMatchObject({ type: 'applied', outputs: { outcome: 'succeeded' } });
    expect(typesOf(order)).toEqual(INTERRUPTED);
  });

  test('work of a killed executor is ended by the next one and repeated', async () => {
    await executor.started();
    const order = bare(scriptOf(twice('killed')));
    await give(order);
    const pid = await pidIn('killed');
    executor.signal('SIGKILL');
    await untilTrue('leftover processes have ended', () => isGone(pid));
    expect(await endOf(order)).toMatchObject({ type: 'applied', outputs: { outcome: 'succeeded' } });
    expect(typesOf(order)).toEqual(INTERRUPTED);
  });
});
