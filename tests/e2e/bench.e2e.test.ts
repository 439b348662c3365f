import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../..');

/** The smallest size of each measurement. The browser has tests of its own. */
const SMALLEST = {
  seconds: 1,
  rest: 1,
  'in-flight': 2,
  waiting: 2,
  graphs: 10,
  effects: 2,
  claimants: 2,
  'idle-claimants': 2,
  queued: 0,
  pending: 10,
  decisions: 5,
  inbox: 20,
  listed: 20,
  failures: 20,
  watchers: 2,
  programs: 1,
  console: 0,
  restart: 0,
};

const Measurement = z.looseObject({
  measurement: z.string(),
  /** Of this second, whichever the measurement counts. */
  effects: z.int().min(1).optional(),
  tasks: z.int().min(1).optional(),
  phases: z.int().min(1).optional(),
  held: z.int().min(1).optional(),
  decided: z.int().min(1).optional(),
});

test('the bench completes every measurement', async () => {
  const sizes = Object.entries(SMALLEST).flatMap(([name, size]) => [`--${name}`, String(size)]);
  const bench = spawn(process.execPath, ['tests/bench/main.ts', ...sizes], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(bench, 'exit');
  const lines = (await text(bench.stdout)).trim().split('\n');
  expect(await ended).toEqual([0, null]);
  const counts: Record<string, number> = {};
  for (const line of lines) {
    const { measurement } = Measurement.parse(JSON.parse(line));
    counts[measurement] = (counts[measurement] ?? 0) + 1;
  }
  expect(counts).toMatchObject({
    rest: 1,
    'validate a template': 1,
    graph: 3,
    effects: 1,
    'held effects': 2,
    'remote effects': 4,
    'idle claimants': 2,
    watchers: 1,
    'hop to a worker and back': 1,
    'program of three phases': 1,
    'gated task': 2,
    decisions: 1,
    'page of pending': 14,
    'page of tasks': 17,
    'failures by class': 4,
  });
});
