import { expect, test } from 'vitest';
import { NodeId, TaskId } from '../values/ids.ts';
import { factRows, shownCriteria } from './facts-text.ts';

test('facts that a request does not have are shown as none', () => {
  expect(factRows({ goal: 'g', phase: 'awaiting_approval', attempt: 2 })).toEqual([
    ['phase', 'awaiting_approval, attempt 2'],
    ['acceptance criteria', 'none'],
    ['spec review', 'none'],
    ['quality review', 'none'],
    ['artifact', 'none'],
    ['rollback hint', 'none provided'],
  ]);
});

test('a request shows its criteria, reviews, artifact, hint and the attempt that asks', () => {
  const node = NodeId.parse('build');
  expect(
    factRows({
      goal: 'g',
      phase: 'awaiting_approval',
      attempt: 1,
      acceptanceCriteria: ['it builds', 'it starts'],
      reviews: {
        spec: {
          kind: 'spec',
          verdict: 'passed',
          summary: 'as agreed',
          url: 'https://a.example/1',
          by: 'grace',
        },
        quality: {
          kind: 'quality',
          verdict: 'changes_requested',
          summary: 'no test',
          by: 'ada',
          agent: 'claude',
        },
      },
      artifact: { kind: 'output', name: 'build', uri: 'https://builds.example/7', node, attempt: 1 },
      rollbackHint: 'deploy the previous build',
      onBehalfOf: { task: TaskId.parse('t-1'), node, attempt: 3 },
    }),
  ).toEqual([
    ['on behalf of', 't-1/build, attempt 3'],
    ['phase', 'awaiting_approval, attempt 1'],
    ['acceptance criteria', '1. it builds\n2. it starts'],
    ['spec review', 'passed by grace: as agreed https://a.example/1'],
    ['quality review', 'changes requested by claude for ada: no test'],
    ['artifact', 'https://builds.example/7 (build)'],
    ['rollback hint', 'deploy the previous build'],
  ]);
});

test('criteria are cut for messages', () => {
  expect(shownCriteria([])).toBeUndefined();
  const shown = shownCriteria(Array.from({ length: 30 }, () => 'x'.repeat(2_000)));
  expect(shown).toHaveLength(20);
  expect(new Set(shown)).toEqual(new Set(['x'.repeat(1_000)]));
});
