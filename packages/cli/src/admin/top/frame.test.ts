import { describe, expect, test } from 'vitest';
import { textOf } from '../../output/painted.ts';
import { frameOf, ROWS_MAX } from './frame.ts';
import type { Sample } from './sample.ts';

const AT = Date.UTC(2026, 0, 15, 9, 30);

const quiet: Sample = {
  at: AT,
  counts: {
    orchestrator: { open: [], ended: [], more: false },
    approvals: { open: [], ended: [], more: false },
    executor: { open: [], ended: [], more: false },
    recovery: { open: [], ended: [], more: false },
  },
  away: [],
  inDoubt: 0,
  inDoubtMore: false,
  stuck: [],
  circuits: [],
  published: { HP_EVT: 100, HP_CMD: 50, HP_LOG: 0 },
  lags: [],
};

const shown = (look: Sample, before?: Sample, columns = 80): readonly string[] =>
  frameOf(look, before, columns).map((line) => (typeof line === 'string' ? line : line.map(textOf).join('')));

const stuck = Array.from({ length: 40 }, (_, i) => ({
  task: `t-${String(i)}`,
  node: 'build',
  class: 'TEST',
}));

describe('a frame of admin top', () => {
  test('a frame of an idle system fits the smallest terminal', () => {
    expect(shown(quiet)).toMatchSnapshot();
    expect(shown(quiet).length).toBeLessThanOrEqual(ROWS_MAX);
  });

  test('a frame of a busy system fits the smallest terminal', () => {
    const busy: Sample = {
      ...quiet,
      away: ['recovery'],
      stuck: stuck as never,
      circuits: stuck.map(({ task }) => ({ target: `https://${task}.example`, state: 'open' })) as never,
      lags: stuck.map(({ task }) => ({ consumer: task, pending: 5 })),
    };
    const rows = shown(busy);
    expect(rows.length).toBeLessThanOrEqual(ROWS_MAX);
    expect(rows.filter((row) => row.length > 80)).toEqual([]);
    expect(rows.at(-1)).toContain('t-0 5');
    expect(rows).toContain('           and 37 more');
  });

  test('a frame names missing executors beside silent services', () => {
    const rows = shown({ ...quiet, away: ['recovery'], missing: ['2d0a', '3e1b'] });
    expect(rows).toContain('away: recovery · missing executors: 2d0a, 3e1b');
    expect(shown({ ...quiet, missing: ['2d0a'] })).toContain('missing executors: 2d0a');
    expect(shown({ ...quiet, missing: [] }).join('\n')).not.toContain('missing');
  });

  test('rates need two samples, and restart with a recreated stream', () => {
    const later = { ...quiet, at: AT + 2_000, published: { HP_EVT: 150, HP_CMD: 10, HP_LOG: 1 } };
    expect(shown(later, quiet).join('\n')).toContain('events 25.0/s · commands - · log lines 0.5/s');
    expect(shown(quiet).join('\n')).toContain('events - ');
  });

  test('unavailable values are shown as unknown', () => {
    const { stuck: _, inDoubt: __, lags: ___, ...rest } = quiet;
    const text = shown({ ...rest, counts: {}, away: ['orchestrator', 'approvals'] }).join('\n');
    expect(text).toContain('2 of 4 services\naway: orchestrator, approvals');
    for (const row of ['TASKS', 'APPROVALS', 'EFFECTS', 'STUCK', 'lag'])
      expect(text).toMatch(new RegExp(`^${row} +unknown: no answer`, 'm'));
  });
});
