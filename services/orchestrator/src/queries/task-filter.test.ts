import { TaskPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import { describe, expect, test } from 'vitest';
import { type Filter, flowOf, isExact, pathFor, startOf } from './task-filter.ts';

describe('the index of a task list', () => {
  test.each<[Filter, string, boolean]>([
    [{}, 'latest', true],
    [{ createdAfter: 1, createdBefore: 2 }, 'latest', true],
    [{ search: 'words' }, 'latest', false],
    [{ workflow: 'draft' }, 'flow', true],
    [{ workflow: 'draft@2' }, 'flow', false],
    [{ requestedBy: 'ada' }, 'requester', true],
    [{ requestedBy: 'ada', workflow: 'draft' }, 'requester', false],
    [{ phase: 'failed' }, 'phase', true],
    [{ phase: 'failed', workflow: 'draft' }, 'flow', false],
    [{ phase: 'paused', workflow: 'draft' }, 'phase', false],
    [{ phase: 'paused', requestedBy: 'ada' }, 'phase', false],
  ])('for %j is that of %s', (filter, path, exact) => {
    expect([pathFor(filter), isExact(filter)]).toEqual([path, exact]);
  });

  test.each(TaskPhase.options)('tasks that are %s use the phase index while they are few', (phase) => {
    expect(pathFor({ phase, requestedBy: 'ada' })).toBe(isEndPhase(phase) ? 'requester' : 'phase');
  });
});

test.each([
  ['draft', 'draft'],
  ['draft@2', 'draft'],
  ['@2', ''],
  ['', ''],
])('the filter %j uses the index %j', (workflow, flow) => {
  expect(flowOf(workflow)).toBe(flow);
});

test.each([
  [undefined, {}, { at: Number.MAX_SAFE_INTEGER, id: '' }],
  [undefined, { createdBefore: 5 }, { at: 5, id: '' }],
  [{ at: 5, id: 't-1' }, { createdBefore: 5 }, { at: 5, id: '' }],
  [{ at: 4, id: 't-1' }, { createdBefore: 5 }, { at: 4, id: 't-1' }],
  [{ at: 4, id: 't-1' }, {}, { at: 4, id: 't-1' }],
])('a page after %j with the filter %j starts after %j', (after, filter, from) => {
  expect(startOf(after, filter)).toEqual(from);
});
