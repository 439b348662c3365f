import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateCredentials } from '../credentials/generate.ts';

let credentials = '';
beforeAll(async () => {
  credentials = await mkdtemp(join(tmpdir(), 'holdpoint-nats-'));
  await generateCredentials(credentials);
});
afterAll(() => rm(credentials, { recursive: true, force: true }));

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), '--credentials', credentials, ...args], {
    encoding: 'utf8',
  });

const ROUTES = ['nats://nats-0:6222', 'nats://nats-1:6222', 'nats://nats-2:6222'];
const CLUSTER = ['--cluster-name', 'holdpoint', '--routes', ROUTES.join(',')];

const maxFileOf = (config: string): number => Number(/max_file: (\d+)MB/.exec(config)?.[1]);

test('a clustered server has its own name, routes to all servers, and storage for every replica', () => {
  const alone = run();
  const { status, stdout } = run('--server-name', 'nats-0', ...CLUSTER, '--stream-replicas', '3');
  expect([alone.status, status]).toEqual([0, 0]);
  expect(stdout).toContain('server_name: "nats-0"');
  expect(stdout).toContain('  listen: "0.0.0.0:6222"');
  expect(stdout).toContain(`  routes: [${ROUTES.map((route) => JSON.stringify(route)).join(', ')}]`);
  expect(maxFileOf(stdout)).toBe(3 * maxFileOf(alone.stdout));
  expect(alone.stdout).not.toContain('cluster');
});

test.each([
  [CLUSTER, '--server-name'],
  [['--stream-replicas', '2'], '--stream-replicas is 1, 3 or 5'],
])('%j is refused', (args, said) => {
  const { status, stdout, stderr } = run(...args);
  expect([status, stdout]).toEqual([64, '']);
  expect(stderr).toContain(said);
});
