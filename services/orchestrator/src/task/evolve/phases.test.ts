import { EndPhase, TaskPhase, type TaskPhase as Phase, isEndPhase } from '@holdpoint/contracts/task/status';
import { expect, test } from 'vitest';
import { histories, TERMINAL } from '../../../testing/tasks.ts';
import { mayGo, TRANSITIONS } from './phases.ts';

test('the transition table covers every phase', () => {
  expect(Object.keys(TRANSITIONS).toSorted()).toEqual(TaskPhase.options.toSorted());
  for (const [from, to] of Object.entries(TRANSITIONS)) {
    expect(to, from).toEqual([...new Set(to)]);
    expect(to, from).not.toContain(from);
  }
});

test('the phases of an end are those without a transition', () => {
  const ends = TaskPhase.options.filter((phase) => TRANSITIONS[phase].length === 0);
  expect(ends.toSorted()).toEqual(EndPhase.options.toSorted());
});

test('every phase is reachable and can reach an end', () => {
  const reachable = (start: Phase): ReadonlySet<Phase> => {
    const found = new Set<Phase>([start]);
    for (const phase of found) for (const next of TRANSITIONS[phase]) found.add(next);
    return found;
  };
  expect([...reachable('queued')].toSorted()).toEqual(TaskPhase.options.toSorted());
  for (const phase of TaskPhase.options) expect([...reachable(phase)].some(isEndPhase), phase).toBe(true);
});

test('a phase may stay the same, and a terminal one may not change', () => {
  for (const phase of TaskPhase.options) expect(mayGo(phase, phase)).toBe(true);
  for (const end of TaskPhase.options.filter(isEndPhase)) {
    expect(TaskPhase.options.filter((phase) => phase !== end && mayGo(end, phase))).toEqual([]);
  }
});

test('the test states are in the phases that they are named after', () => {
  const phaseOf = Object.fromEntries(
    Object.entries(histories).map(([name, history]) => [name, history.at(-1)?.phase]),
  );
  expect(phaseOf).toMatchObject({
    awaiting: 'awaiting_approval',
    running: 'executing',
    recovering: 'recovering',
    retrying: 'recovering',
    escalated: 'paused',
    changesRequested: 'paused',
    completed: 'completed',
    failed: 'failed',
    cancelled: 'cancelled',
  });
  const paused = Object.entries(phaseOf).filter(([name]) => name.startsWith('paused'));
  expect(new Set(paused.map(([, phase]) => phase))).toEqual(new Set(['paused']));
  for (const name of TERMINAL) expect(isEndPhase(phaseOf[name] ?? 'queued'), name).toBe(true);
});
