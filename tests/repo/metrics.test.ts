import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  alarmsIn,
  dashboard,
  EXPLAINED,
  figureOf,
  headingsIn,
  HOST_RULES,
  metricsAskedFor,
  metricsExplained,
  metricsIn,
  RULE_TESTS,
  RULES,
  SCRAPING,
  shownIn,
} from './metrics.ts';
import { ROOT } from './source-tree.ts';

const explained = new Set(metricsExplained());

test('what alarms and panels ask for is explained', () => {
  expect(explained.size).toBeGreaterThan(40);
  expect(metricsAskedFor().filter((name) => !explained.has(figureOf(name, explained)))).toEqual([]);
});

test('no figure is explained twice', () => {
  const all = metricsExplained();
  expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
});

describe.each([RULES, HOST_RULES])('%s', (path) => {
  test('has alarms, each under a name of its own, whose section says what to do', () => {
    const alarms = alarmsIn(path);
    expect(alarms.length).toBeGreaterThan(0);
    expect(new Set(alarms.map(({ alert }) => alert)).size).toBe(alarms.length);
    const headings = headingsIn(EXPLAINED);
    for (const { alert, annotations } of alarms) {
      expect(annotations.runbook).toBe(`${EXPLAINED}#${alert.toLowerCase()}`);
      expect([alert, headings.includes(alert.toLowerCase())]).toEqual([alert, true]);
    }
  });
});

test('the dashboard shows something in each panel but the headings', () => {
  const { panels } = dashboard();
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const shown = panels.filter(({ targets }) => targets.length > 0);
  expect(shown.length).toBeGreaterThan(20);
  for (const { title, targets } of shown)
    for (const { expr } of targets) expect([title, metricsIn(expr).length > 0]).toEqual([title, true]);
});

describe('what is read of expressions and of what a service shows', () => {
  test('is names of figures, and not of labels or functions', () => {
    expect(
      metricsIn('max by (service) (rate(holdpoint_a_bucket{x="y"}[5m])) > holdpoint_b_total and up == 0'),
    ).toEqual(['holdpoint_a_bucket', 'holdpoint_b_total']);
  });
  test('is each figure, and each kind of line', () => {
    const { figures, lines } = shownIn(
      '# HELP a A\n# TYPE a histogram\na_sum 1\na_bucket{le="1"} 1\n\n# TYPE b gauge\nb{x="c 1"} 1\n',
    );
    expect([...figures]).toEqual(['a', 'b']);
    expect([...lines]).toEqual(['a_sum', 'a_bucket', 'b']);
  });
});

const promtool = (...args: readonly string[]): { readonly status: number | null; readonly said: string } => {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, {
    cwd: join(ROOT, dirname(RULES)),
    encoding: 'utf8',
  });
  if (error !== undefined) return { status: null, said: error.message };
  return { status, said: stdout + stderr };
};
const isThere = promtool('--version').status === 0;
if (!isThere)
  process.stdout.write(
    '  rules are not put to promtool: it is not there (Debian has it in the package prometheus)\n',
  );

describe.skipIf(!isThere)('promtool', () => {
  const nameOf = (path: string): string => path.slice(dirname(path).length + 1);
  test.each([
    ['reads the rules', ['check', 'rules', nameOf(RULES), nameOf(HOST_RULES)]],
    ['reads the settings of Prometheus', ['check', 'config', nameOf(SCRAPING)]],
    ['sees each alarm in trouble, and none without', ['test', 'rules', nameOf(RULE_TESTS)]],
  ])('%s', (_what, args) => {
    expect(promtool(...args)).toEqual({ status: 0, said: expect.any(String) as string });
  });
});
