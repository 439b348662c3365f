import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandOf, isAlive } from './pid.ts';
import { createRegistry, endLeftovers } from './leftovers.ts';
import { poll } from '../poll.ts';
import { awaitReady } from './service-processes.ts';
import { startChild } from './child.ts';
import { supervise } from './supervisor.ts';
import type { Supervised } from './supervisor.ts';

let dir = '';
const said: string[] = [];
const running: Supervised[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-supervisor-'));
  said.length = 0;
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
  await rm(dir, { recursive: true, force: true });
});

const node = async (script: string): Promise<Supervised> => {
  const spec = {
    name: 'thing',
    command: process.execPath,
    args: ['-e', script],
    logFile: join(dir, 'thing.log'),
  };
  const supervised = await supervise(spec, { say: (line) => void said.push(line) });
  running.push(supervised);
  return supervised;
};

const until = (what: string, is: () => boolean | Promise<boolean>) =>
  poll(async () => ((await is()) ? true : undefined), { timeoutMs: 10_000, what });

const log = () => readFile(join(dir, 'thing.log'), 'utf8');

test('a process that is killed is started again', async () => {
  const thing = await node('console.log("up"); setInterval(() => {}, 1000)');
  await until('it has started', async () => (await log()) === 'up\n');
  const first = thing.pid();
  process.kill(first, 'SIGKILL');
  await until('it runs again', () => thing.restarts() === 1 && thing.pid() !== first && isAlive(thing.pid()));
  await until('it has written twice', async () => (await log()) === 'up\nup\n');
  expect(said).toEqual([expect.stringMatching(/^thing ended by SIGKILL; it is started again in 0\.1 s/)]);
});

test('one that keeps ending is started again ever more slowly', async () => {
  const thing = await node('process.exit(3)');
  await until('three restarts', () => thing.restarts() >= 3);
  expect(said.slice(0, 3).map((line) => /code 3.* in ([\d.]+) s/.exec(line)?.[1])).toEqual([
    '0.1',
    '0.2',
    '0.4',
  ]);
});

test('a process that refuses its configuration ends the start with its own message', async () => {
  const thing = await node('console.error("HOLDPOINT_EXECUTOR_POOLS: no pool"); process.exit(78)');
  await until('it is escalated', () => thing.failure() !== undefined);
  expect(thing.failure()).toBe('thing refuses its configuration: HOLDPOINT_EXECUTOR_POOLS: no pool');
  expect(thing.restarts()).toBe(0);
});

test('a process that ends again and again before it is ready ends the start with its reason', async () => {
  const thing = await node('throw new SyntaxError("no such export")');
  const isReady = () => Promise.resolve(false);
  await expect(awaitReady({ ...thing, isReady }, { timeoutMs: 60_000 })).rejects.toThrow(
    /^thing ends again and again, see .*thing\.log: SyntaxError: no such export$/,
  );
  expect(thing.restarts()).toBeGreaterThan(3);
});

test('stopping is polite, waits for the end, and may be done twice', async () => {
  const thing = await node(
    'process.on("SIGTERM", () => { console.log("bye"); process.exit(0) }); console.log("up"); setInterval(() => {}, 1000)',
  );
  await until('it has started', async () => (await log()) === 'up\n');
  await thing.stop();
  expect(isAlive(thing.pid())).toBe(false);
  expect(await log()).toBe('up\nbye\n');
  await thing.stop();
  expect(said).toEqual([]);
});

test('one that does not listen is killed', async () => {
  const child = await startChild({
    name: 'deaf',
    command: process.execPath,
    args: ['-e', 'process.on("SIGTERM", () => {}); console.log("up"); setInterval(() => {}, 1000)'],
    logFile: join(dir, 'thing.log'),
  });
  await until('it has started', async () => (await log()) === 'up\n');
  expect(
    await child.stop([
      ['SIGTERM', 100],
      ['SIGKILL', 5_000],
    ]),
  ).toEqual({ code: null, signal: 'SIGKILL' });
});

test('what a killed start left running is ended by the next, and nothing else is', async () => {
  const registry = createRegistry(join(dir, 'processes.json'));
  const start = (marker: string) =>
    startChild({
      name: marker,
      command: process.execPath,
      args: ['-e', `setInterval(() => {}, 1000) // ${marker}`],
      logFile: join(dir, 'thing.log'),
    });
  const [left, other] = [await start('left-behind'), await start('bystander')];
  expect(await commandOf(left.pid)).toContain('left-behind');
  await registry.add({ name: 'left', pid: left.pid, marker: 'left-behind' });
  // The number of a process that ended is used by another one by now.
  await registry.add({ name: 'reused', pid: other.pid, marker: 'what it was before' });
  expect(await endLeftovers(join(dir, 'processes.json'))).toEqual(['left']);
  expect(await left.exited).toEqual({ code: null, signal: 'SIGTERM' });
  expect(isAlive(other.pid)).toBe(true);
  await other.stop();
  expect(await endLeftovers(join(dir, 'processes.json'))).toEqual([]);
});
