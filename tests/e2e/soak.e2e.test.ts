import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { startChild } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { currentRun } from '../kit/stack/run.ts';

/** Thirty seconds of load, and the time to start, drain and clean up. */
const WITHIN_MS = 420_000;
const TABLES = ['heads', 'events', 'timers', 'outbox'];

const Report = z.object({
  tasks: z.int(),
  effects: z.int(),
  faults: z.record(z.string(), z.int()),
  notCarriedThrough: z.array(z.string()),
  stillThere: z.array(z.string()),
  twice: z.array(z.string()),
  left: z.array(z.object({ service: z.string(), retired: z.int(), overdue: z.int(), rows: z.int() })),
  series: z.array(
    z.object({
      name: z.string(),
      finding: z.string(),
      most: z.number().nullable(),
      points: z.array(z.tuple([z.number(), z.number()])),
    }),
  ),
});

/**
 * This test does not check that memory stays flat: within a minute it still grows. `npm run soak` checks
 * it after an hour.
 */
test('steady load with faults leaves nothing behind', { timeout: WITHIN_MS }, async () => {
  const { folder } = currentRun();
  const file = join(folder, 'soak-report.json');
  const main = join(root, 'tests', 'torture', 'soak', 'main.ts');
  const load = ['--duration', '30s', '--rate', '8', '--fault-every', '8s', '--seed', 'short'];
  // These checks end soon after the load; slower ones need a longer run.
  const faults = ['--faults', 'kill-service,stop-service,postgres,delay,lost-answer'];
  const rest = ['--every', '5s', '--settle', '180s', '--data', join(folder, 'soak'), '--report', file];
  const child = await startChild({
    name: 'soak',
    command: process.execPath,
    args: [main, ...load, ...faults, ...rest],
    logFile: join(folder, 'soak.log'),
  });
  const exit = await child.exited;
  const log = await readFile(child.logFile, 'utf8');
  expect(exit.code === 0 || exit.code === 1, log).toBe(true);

  const report = Report.parse(JSON.parse(await readFile(file, 'utf8')));
  expect(report.tasks).toBeGreaterThan(200);
  expect(report.effects).toBeGreaterThan(0);
  expect(Object.keys(report.faults)).not.toEqual([]);
  expect(report.notCarriedThrough).toEqual([]);

  expect(report.stillThere).toEqual([]);
  expect(report.twice).toEqual([]);
  expect(report.left.map(({ service, overdue, rows }) => ({ service, overdue, rows }))).toEqual(
    SERVICES.map((service) => ({ service, overdue: 0, rows: 0 })),
  );

  const byName = new Map(report.series.map((series) => [series.name, series]));
  const wanted = [
    ...SERVICES.flatMap((service) => [`memory of ${service}-1`, `open files of ${service}-1`]),
    ...SERVICES.flatMap((service) =>
      TABLES.flatMap((table) => [`size of ${service}.${table}`, `rows of ${service}.${table}`]),
    ),
    'approval to effect, p50',
    'tasks ended',
  ];
  expect(wanted.filter((name) => (byName.get(name)?.points.length ?? 0) === 0)).toEqual([]);
  for (const { name } of streams) expect(byName.get(`size of ${name}`)?.finding).toBe('within its limit');
});
