import { expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';
import type { Host } from './commands.ts';

/** Types a line where the host notes its calls, and answers each with one line. */
const type = async (...words: readonly string[]) => {
  const asked: unknown[] = [];
  const note =
    (name: string) =>
    async (...args: readonly unknown[]): Promise<string> => {
      asked.push([name, ...args]);
      return 'done';
    };
  const host: Host = {
    dev: async () => 0,
    serve: async (services) => void asked.push(['serve', services]),
    exportNats: async () => [],
    provision: {
      credentials: note('credentials'),
      rotate: note('rotate'),
      nats: note('nats'),
      postgres: note('postgres'),
    },
    migrations: () => [],
  };
  const { code, out, err } = await typeLine(words, {}, { host });
  return { code, out, err, asked };
};

test.each([
  [['serve'], ['serve', []]],
  [
    ['serve', 'core'],
    ['serve', ['core']],
  ],
  [
    ['serve', 'orchestrator,approvals', 'recovery'],
    ['serve', ['orchestrator', 'approvals', 'recovery']],
  ],
])('%j names its services', async (words, call) => {
  expect((await type(...words)).asked).toEqual([call]);
});

const SERVER = {
  credentials: 'c',
  host: '0.0.0.0',
  port: 4222,
  store: '/data/jetstream',
  sync: 'periodic',
  pools: 'default',
  clusterPort: 6222,
  routes: [],
  streamReplicas: 1,
};

test.each([
  [
    ['credentials', 'c'],
    ['credentials', 'c'],
  ],
  [
    ['credentials', 'c', '--rotate', 'add'],
    ['rotate', 'c', { step: 'add', service: 'approvals', early: false }],
  ],
  [
    ['credentials', 'c', '--rotate', 'retire', '--key', 'recovery', '--early'],
    ['rotate', 'c', { step: 'retire', service: 'recovery', early: true }],
  ],
  [
    ['nats', '--credentials', 'c'],
    ['nats', SERVER],
  ],
  [
    ['nats', '--credentials', 'c', '--port', '1', '--routes', 'nats://a,nats://b', '--stream-replicas', '3'],
    ['nats', { ...SERVER, port: 1, routes: ['nats://a', 'nats://b'], streamReplicas: 3 }],
  ],
  [['postgres'], ['postgres']],
])('provision %j is one call, whose text is printed', async (words, call) => {
  expect(await type('provision', ...words)).toEqual({ code: 0, out: 'done\n', err: '', asked: [call] });
});

test.each([
  [['--early'], 'only --rotate retire takes --early; no key was retired'],
  [['--rotate', 'add', '--early'], 'only --rotate retire takes --early; no key was retired'],
  [['--key', 'recovery'], '--key needs a step: add --rotate <step>'],
])('provision credentials %j is refused, because it would do nothing with a key', async (words, said) => {
  const { code, err, asked } = await type('provision', 'credentials', 'c', ...words);
  expect({ code, err, asked }).toEqual({ code: 1, err: `error CLI_PROVISION: ${said}\n`, asked: [] });
});

test.each([
  [['serve', 'core,'], 'expected one of orchestrator, approvals, executor, recovery, core, all'],
  [['serve', 'approval'], 'expected one of orchestrator, approvals, executor, recovery, core, all'],
  [['provision', 'credentials'], `missing required argument 'folder'`],
  [['provision', 'credentials', 'c', '--rotate', 'drop'], 'expected one of add, use, retire'],
  [
    ['provision', 'credentials', 'c', '--rotate', 'add', '--key', 'executor'],
    'approvals, orchestrator, recovery',
  ],
  [['provision', 'nats'], '--credentials <folder>'],
  [['provision', 'nats', '--credentials', 'c', '--port', '0'], 'expected a number from 1 to 65535'],
  [['provision', 'nats', '--credentials', 'c', '--stream-replicas', '2'], 'expected one of 1, 3, 5'],
  [['provision', 'nats', '--credentials', 'c', '--sync', 'never'], 'expected one of periodic, always'],
])('%j is refused with the expected values', async (words, said) => {
  const { code, out, err, asked } = await type(...words);
  expect({ code, out, asked }).toEqual({ code: 2, out: '', asked: [] });
  expect(err).toContain(said);
});
