import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applicationsByKey, readLedger } from './ledger.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-counter-'));
});
afterAll(() => rm(folder, { recursive: true }));

const run = (...args: readonly string[]) =>
  spawn(process.execPath, ['--no-warnings', MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });

type Started = { readonly child: ChildProcess; readonly counter: string; readonly pid: number };
const start = async (file: string): Promise<Started> => {
  const child = run('--file', file, '--mode', 'normal');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as { readonly counter: string; readonly pid: number }) };
};
const end = async ({ child }: Started, signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> => {
  const exited = once(child, 'exit');
  child.kill(signal);
  return (await exited)[0];
};
const post = async ({ counter }: Started, key: string): Promise<string> => {
  const request = { method: 'POST', headers: { 'idempotency-key': key }, body: 'x' };
  return (await fetch(`${counter}/keyed/x`, request)).text();
};

test('answered requests survive a kill', async () => {
  const file = join(folder, 'killed.ndjson');
  const first = await start(file);
  expect(first.pid).toBe(first.child.pid);
  const keys = Array.from({ length: 30 }, (_, i) => `k-${String(i)}`);
  const answers = await Promise.all(keys.map((key) => post(first, key)));
  await end(first, 'SIGKILL');
  const second = await start(file);
  expect(await Promise.all(keys.map((key) => post(second, key)))).toEqual(answers);
  expect(await end(second, 'SIGTERM')).toBe(0);
  const applications = applicationsByKey(await readLedger(file));
  expect(keys.map((key) => applications.get(key)?.length)).toEqual(keys.map(() => 1));
});

test.each([
  [[], '--file'],
  [['--file', 'x', '--mode', 'sometimes'], '--mode'],
  [['--file', 'x', '--mix', '{"normal":0}'], '--mix'],
  [['--file', 'x', '--mix', 'normal'], '--mix'],
  [['--file', 'x', '--hold-ms', '5'], '--hold-ms'],
  [['--file', 'x', '--port', '99999'], '--port'],
  [['--file', 'x', '--unheard', 'of'], '--unheard'],
])('%j ends with 2 and one line', async (args, named) => {
  const child = run(...args);
  const [said, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(ended).toEqual([2, null]);
  expect(said.trimEnd().split('\n')).toHaveLength(1);
  expect(said).toContain(named);
});
