import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { describe, expect, test } from 'vitest';
import { definitionIn, taskAt, withEvent } from './replay.ts';

const history = (...events: readonly (readonly [type: string, data: object])[]): readonly HistoryEntry[] =>
  events.map(([type, data], i) => ({ version: i + 1, at: 100 + i, type, data: { type, ...data } as never }));
const definition = {
  nodes: [
    { id: 'build', after: [] },
    { id: 'ship', after: ['build'] },
  ],
};
const events = history(
  ['submitted', { phase: 'queued', definition }],
  ['node_started', { phase: 'executing', node: 'build', attempt: 1 }],
  ['node_failed', { phase: 'recovering', node: 'build', attempt: 1 }],
  ['node_retrying', { phase: 'recovering', node: 'build', attempt: 2 }],
  ['node_started', { phase: 'executing', node: 'build', attempt: 2 }],
  ['node_succeeded', { phase: 'executing', node: 'build', attempt: 2 }],
  ['approval_requested', { phase: 'awaiting_approval', node: 'ship', attempt: 1 }],
  [
    'node_ended',
    { phase: 'failed', node: 'ship', attempt: 1, outcome: 'blocked', error: { code: 'ERR_FORBIDDEN' } },
  ],
);
const jobs = (version: number) =>
  Object.fromEntries(
    [...taskAt(events, version).nodes].map(([id, { job, attempt }]) => [id, `${job} ${String(attempt)}`]),
  );

describe('a task at one version', () => {
  test.each(['ERR_FORBIDDEN', 'APPROVALS_EXPIRED'])('a node that ends with %s is refused', (code) => {
    const ended = { phase: 'failed', node: 'ship', attempt: 1, outcome: 'blocked', error: { code } };
    const nodes = taskAt(
      history(['submitted', { phase: 'queued', definition }], ['node_ended', ended]),
      2,
    ).nodes;
    expect(nodes.get('ship')?.job).toBe('blocked_by_approval');
  });

  test.each([
    [1, 'queued', { build: 'queued 1', ship: 'queued 1' }],
    [2, 'executing', { build: 'running 1', ship: 'queued 1' }],
    [4, 'recovering', { build: 'recovering 2', ship: 'queued 1' }],
    [7, 'awaiting_approval', { build: 'succeeded 2', ship: 'waiting_on_approval 1' }],
    [8, 'failed', { build: 'succeeded 2', ship: 'blocked_by_approval 1' }],
  ])('at version %d the node is %s', (version, phase, nodes) => {
    expect(taskAt(events, version)).toMatchObject({ phase, version, at: 99 + version });
    expect(jobs(version)).toEqual(nodes);
  });

  test('a version after the last one shows the last one', () => {
    expect(taskAt(events, 99).version).toBe(8);
  });

  test('a restarted node begins again with its next attempt', () => {
    const restarted = [
      ...events,
      {
        version: 9,
        at: 1,
        type: 'restarted',
        data: { node: 'build', nodes: ['build', 'ship'], phase: 'executing' },
      },
    ];
    expect([...taskAt(restarted, 9).nodes.values()]).toEqual([
      { job: 'queued', attempt: 3 },
      { job: 'queued', attempt: 2 },
    ]);
  });

  test('a forked task contains the results of its origin', () => {
    const forked = history([
      'submitted',
      { phase: 'queued', definition, forkedFrom: { nodes: { build: { status: 'succeeded', attempt: 1 } } } },
    ]);
    expect(taskAt(forked, 1).nodes.get('build')).toEqual({ job: 'succeeded', attempt: 1 });
  });
});

test('the workflow is the submitted one', () => {
  expect(definitionIn(events).map(({ id }) => id)).toEqual(['build', 'ship']);
  expect(definitionIn([])).toEqual([]);
});

test('a history appends the next event, ignores duplicates, and is not continued over a gap', () => {
  const next = { version: 9, at: 1, type: 'completed', data: {} };
  expect(withEvent(events, next)).toHaveLength(9);
  expect(withEvent(events, { ...next, version: 8 })).toBe(events);
  expect(withEvent(events, { ...next, version: 10 })).toBeUndefined();
});
