import { execFile } from 'node:child_process';
import { mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until } from '../../kit/until.ts';

const SHELL = 'cap.env.shell.command.run';
const SECRET = 'open-sesame-42';

let system: System;
let orderer: NatsConnection;
let repository: string;
const events: EffectEvent[] = [];
/** All messages on the bus about effects and their output. */
const carried: string[] = [];

beforeAll(async () => {
  system = await createSystem();
  const folder = join(await realpath(system.folder), 'repositories');
  repository = join(folder, 'app');
  await mkdir(repository, { recursive: true });
  await promisify(execFile)('git', ['init', '--quiet', '--initial-branch=main', repository]);
  const secrets = {
    DEPLOY_TOKEN: { file: join(system.folder, 'deploy-token'), for: [SHELL] },
    API_KEY: { env: 'API_KEY_OF_THE_TEST', for: ['https://api.example'] },
  };
  await writeFile(join(system.folder, 'deploy-token'), `${SECRET}\n`, { mode: 0o600 });
  await writeFile(join(system.folder, 'secrets.json'), JSON.stringify({ secrets }), { mode: 0o600 });
  const keeper = await keepTopology({ connection: await system.connect('topology'), log: silentLogger() });
  // An executor with a new key waits for its enrolment.
  await system.start('approvals');
  const executor = await system.spawn('executor', {
    env: {
      HOLDPOINT_REPOSITORIES: folder,
      HOLDPOINT_SECRETS_FILE: join(system.folder, 'secrets.json'),
      API_KEY_OF_THE_TEST: 'another-sesame-43',
      HOLDPOINT_PROCESS_FILE_MIB: '1',
    },
  });
  await executor.started();
  keeper.stop();
  orderer = await system.connect('orchestrator');
  system.client.connection.subscribe(filters.eventsOf('effect'), {
    callback: (_error, msg) => {
      events.push(msg.json<EffectEvent>());
      carried.push(msg.string());
    },
  });
  system.client.connection.subscribe('hp.log.>', {
    callback: (_error, msg) => void carried.push(msg.string()),
  });
  await system.client.connection.flush();
});
afterAll(() => system.stop());

/** Runs a script as work and waits for its end. */
const run = async (key: string, command: string, env: Readonly<Record<string, string>> = {}) => {
  const effect = sampleEffect({
    node: NodeId.parse('build'),
    uses: SHELL,
    args: { with: { command, env }, repository, context: {} },
    kind: 'work',
    effectClass: 'idempotent',
    target: 'work',
    idempotencyKey: key,
  });
  const id = effectIdOf(effect.task, effect.node, effect.idempotencyKey);
  const order = RunEffect.parse({ id, attempt: 1, effect, digest: effectDigest(effect) });
  await publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
  return until(`${key} has an end`, () =>
    events.find((event) => event.id === id && (event.type === 'applied' || event.type === 'failed_clean')),
  );
};

test('a command receives its secret, and no output of the executor shows it', async () => {
  // The order must not contain the secret itself, because orders are visible on the bus.
  const expected = `"$(printf 'open-%s-42' ses''ame)"`;
  const script = `test "$TOKEN" = ${expected} && echo "it is $TOKEN" && echo "$TOKEN" | base64 >&2`;
  const end = await run('shown', script, { TOKEN: '${secret:DEPLOY_TOKEN}' });
  expect(end).toMatchObject({ type: 'applied', outputs: { outcome: 'succeeded' } });
  expect(JSON.stringify(end)).toContain('it is [hidden]');
  await until('its line is there', () => carried.find((text) => text.includes('"line":"it is [hidden]"')));
  expect(carried.filter((text) => text.includes(SECRET))).toEqual([]);
  expect(carried.join('')).not.toContain(Buffer.from(SECRET).toString('base64').slice(0, 16));
});

test('a command that uses a secret for another purpose is refused and does not start', async () => {
  expect(await run('refused', 'touch ran', { KEY: '${secret:API_KEY}' })).toMatchObject({
    type: 'failed_clean',
    error: { code: 'EXECUTOR_SECRET_NOT_ALLOWED', message: `secret "API_KEY" is not for ${SHELL}` },
  });
  await expect(stat(join(repository, 'ran'))).rejects.toThrow('ENOENT');
});

test('a command sees none of the settings of its executor, only the marker of its work', async () => {
  const end = await run('environment', 'tr "\\0" "\\n" < /proc/self/environ; env', { DECLARED: 'here' });
  const { outputs } = end as Extract<EffectEvent, { type: 'applied' }>;
  const { stdout = '' } = outputs['outputs'] as { readonly stdout?: string };
  const names = new Set(stdout.split('\n').map((line) => line.replace(/=.*/, '')));
  expect([...names].filter((name) => name.startsWith('HOLDPOINT_'))).toEqual(['HOLDPOINT_WORK']);
  expect(names).toContain('DECLARED');
  expect(names).not.toContain('API_KEY_OF_THE_TEST');
});

test('a command cannot write a file above the size limit', async () => {
  await run('large', 'head -c 3M /dev/zero > large');
  expect((await stat(join(repository, 'large'))).size).toBe(2 ** 20);
});
