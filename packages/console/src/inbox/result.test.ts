import { expect, test } from 'vitest';
import { endedAt, isSettled } from './result.tsx';

test('a step that runs or waits is not settled, every end is', () => {
  for (const job of ['queued', 'running', 'recovering', 'waiting_on_approval'] as const)
    expect(isSettled({ job })).toBe(false);
  for (const job of ['succeeded', 'failed', 'escalated', 'blocked_by_approval'] as const)
    expect(isSettled({ job })).toBe(true);
});

test('a step ended at its latest end, not at that of another step', () => {
  const event = (version: number, type: string, node: string) => ({
    version,
    at: version * 10,
    type,
    data: { node },
  });
  const events = [
    event(1, 'node_failed', 'merge'),
    event(2, 'node_succeeded', 'merge'),
    event(3, 'node_started', 'merge'),
    event(4, 'node_succeeded', 'other'),
  ];
  expect(endedAt(events, 'merge')).toBe(20);
  expect(endedAt(events, 'build')).toBeUndefined();
});
