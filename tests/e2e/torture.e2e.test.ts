import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { startChild } from '@holdpoint/infra/local/process/child';
import { z } from 'zod';
import { expect, test } from 'vitest';
import { currentRun } from '../kit/stack/run.ts';

const PLAN = join(root, 'tests', 'torture', 'short-plan.json');
/** `npm run prove` tortures both forms for longer. Eighty seconds of load, and the time to start, drain and check. */
const WITHIN_MS = 420_000;

const Report = z.object({
  tasks: z.int(),
  faults: z.record(z.string(), z.int()),
  skipped: z.array(z.object({ fault: z.string(), times: z.int(), reason: z.string() })),
  notCarriedThrough: z.array(z.string()),
  verdicts: z.array(z.object({ id: z.string(), checked: z.int(), violations: z.array(z.string()) })),
});
const Planned = z.object({ steps: z.array(z.object({ fault: z.string() })) });

/** Mounting a disk that can be filled needs root. */
const MAY_BE_SKIPPED: ReadonlySet<string> = new Set(['nats-disk-full']);

test('a short torture with a fault of every group breaks no promise', { timeout: WITHIN_MS }, async () => {
  const folder = join(currentRun().folder, 'torture');
  const report = join(currentRun().folder, 'torture-report.json');
  const main = join(root, 'tests', 'torture', 'main.ts');
  const options = ['--plan', PLAN, '--rate', '6', '--settle', '400s', '--data', folder, '--report', report];
  const child = await startChild({
    name: 'torture',
    command: process.execPath,
    args: [main, ...options],
    logFile: join(currentRun().folder, 'torture.log'),
  });
  const exit = await child.exited;
  const log = await readFile(child.logFile, 'utf8');
  expect(exit.code === 0 || exit.code === 1, log).toBe(true);

  const { tasks, faults, skipped, notCarriedThrough, verdicts } = Report.parse(
    JSON.parse(await readFile(report, 'utf8')),
  );
  expect(verdicts.flatMap(({ id, violations }) => violations.map((each) => `${id}: ${each}`))).toEqual([]);
  expect(verdicts.filter(({ checked }) => checked === 0)).toEqual([]);
  expect(notCarriedThrough).toEqual([]);
  expect(skipped.filter(({ fault, times }) => times > 0 && !MAY_BE_SKIPPED.has(fault))).toEqual([]);
  const planned = Planned.parse(JSON.parse(await readFile(PLAN, 'utf8'))).steps.map(({ fault }) => fault);
  const happened = new Set([...Object.keys(faults), ...skipped.map(({ fault }) => fault)]);
  expect(planned.filter((fault) => !happened.has(fault))).toEqual([]);
  expect(tasks).toBeGreaterThan(350);
  expect(exit.code, log).toBe(0);
});
