import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  alarmsIn,
  COMPOSE_SCRAPING,
  dashboard,
  METRICS_DOCUMENT,
  metricOf,
  headingsIn,
  HOST_RULES,
  metricsUsed,
  metricsDocumented,
  metricsIn,
  RULE_TESTS,
  RULES,
  SCRAPING,
  exposedIn,
} from './metrics.ts';
import { ROOT } from './source-tree.ts';

const documented = new Set(metricsDocumented());

test('every metric of alarms and panels is documented', () => {
  expect(documented.size).toBeGreaterThan(40);
  expect(metricsUsed().filter((name) => !documented.has(metricOf(name, documented)))).toEqual([]);
});

test('no metric is documented twice', () => {
  const all = metricsDocumented();
  expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
});

describe.each([RULES, HOST_RULES])('%s', (path) => {
  test('the alarms have unique names and a section each', () => {
    const alarms = alarmsIn(path);
    expect(alarms.length).toBeGreaterThan(0);
    expect(new Set(alarms.map(({ alert }) => alert)).size).toBe(alarms.length);
    const headings = headingsIn(METRICS_DOCUMENT);
    for (const { alert, annotations } of alarms) {
      expect(annotations.runbook).toBe(`${METRICS_DOCUMENT}#${alert.toLowerCase()}`);
      expect([alert, headings.includes(alert.toLowerCase())]).toEqual([alert, true]);
    }
  });
});

test('every panel of the dashboard but its headings shows a metric', () => {
  const { panels } = dashboard();
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const shown = panels.filter(({ targets }) => targets.length > 0);
  expect(shown.length).toBeGreaterThan(20);
  for (const { title, targets } of shown)
    for (const { expr } of targets) expect([title, metricsIn(expr).length > 0]).toEqual([title, true]);
});

describe('the readers of expressions and of /metrics', () => {
  test('an expression yields metrics, without labels and functions', () => {
    expect(
      metricsIn('max by (service) (rate(holdpoint_a_bucket{x="y"}[5m])) > holdpoint_b_total and up == 0'),
    ).toEqual(['holdpoint_a_bucket', 'holdpoint_b_total']);
  });
  test('a response yields each metric and each kind of line', () => {
    const { metrics, lines } = exposedIn(
      '# HELP a A\n# TYPE a histogram\na_sum 1\na_bucket{le="1"} 1\n\n# TYPE b gauge\nb{x="c 1"} 1\n',
    );
    expect([...metrics]).toEqual(['a', 'b']);
    expect([...lines]).toEqual(['a_sum', 'a_bucket', 'b']);
  });
});

const promtool = (
  ...args: readonly string[]
): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, {
    cwd: join(ROOT, dirname(RULES)),
    encoding: 'utf8',
  });
  if (error !== undefined) return { status: null, output: error.message };
  return { status, output: stdout + stderr };
};
const isThere = promtool('--version').status === 0;
if (!isThere)
  process.stdout.write(
    '  promtool is not installed, so it does not check the rules (Debian: package prometheus)\n',
  );

describe.skipIf(!isThere)('promtool', () => {
  const nameOf = (path: string): string => path.slice(dirname(path).length + 1);
  test.each([
    ['promtool accepts the rules', ['check', 'rules', nameOf(RULES), nameOf(HOST_RULES)]],
    ['promtool accepts the settings of Prometheus', ['check', 'config', nameOf(SCRAPING)]],
    ['promtool accepts the settings of the profile observe', ['check', 'config', nameOf(COMPOSE_SCRAPING)]],
    ['each alarm fires in its case, and only then', ['test', 'rules', nameOf(RULE_TESTS)]],
  ])('%s', (_title, args) => {
    expect(promtool(...args)).toEqual({ status: 0, output: expect.any(String) as string });
  });

  test('promtool accepts every query of the dashboard', () => {
    const queries = dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const check = (each: readonly string[]) => {
      const folder = mkdtempSync(join(tmpdir(), 'holdpoint-queries-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const rules = each.map((expr, at) => ({ record: `query_${String(at)}`, expr }));
      const file = join(folder, 'queries.json');
      // Promtool reads rules only, and JSON is YAML.
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
      return promtool('check', 'rules', file);
    };
    expect(check(queries)).toEqual({ status: 0, output: expect.any(String) as string });
    expect(check(['sum by (phase) (rate(holdpoint_tasks[5m])']).status).not.toBe(0);
  });
});
