import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { expect, test } from 'vitest';
import { type Answer, fails, succeeds } from '../../../testing/answers.ts';
import { node, type Shape } from '../../../testing/graphs.ts';
import { play } from '../../../testing/play.ts';

const RECOVER = { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 } as const;
const stuck = (change: Shape = {}): NodeDefinition => node('stuck', { onError: RECOVER, ...change });
/** The dependents that the orchestrator reports when the job fails. */
const dependentsIn = (nodes: readonly NodeDefinition[], ...answers: readonly Answer[]) => {
  const [assess] = play(nodes)
    .when(...answers, fails('stuck'))
    .sent('recovery.assess');
  return (assess?.data as AssessFailure | undefined)?.dependents;
};

test('every job behind the failed one depends on it, directly or through others', () => {
  const chain = [
    stuck(),
    node('next', { after: ['stuck'] }),
    node('last', { after: ['next'] }),
    node('beside'),
  ];
  expect(dependentsIn(chain)).toEqual({ nodes: ['next', 'last'], count: 2, critical: true });
});

test('a job without successors has no dependents', () => {
  expect(dependentsIn([stuck({ after: ['first'] }), node('first')], succeeds('first'))).toBeUndefined();
});

test('the critical path is not blocked while a longer chain of jobs continues', () => {
  const nodes = [
    stuck(),
    node('next', { after: ['stuck'] }),
    node('one'),
    node('two', { after: ['one'] }),
    node('three', { after: ['two'] }),
  ];
  expect(dependentsIn(nodes)).toEqual({ nodes: ['next'], count: 1, critical: false });
  // The longer chain is down to two jobs.
  expect(dependentsIn(nodes, succeeds('one'))).toEqual({ nodes: ['next'], count: 1, critical: true });
});

test('a chain that joins the jobs behind the failed one counts up to its end', () => {
  const nodes = [
    stuck(),
    node('one'),
    node('two', { after: ['one'] }),
    node('join', { after: ['stuck', 'two'] }),
  ];
  expect(dependentsIn(nodes)).toEqual({ nodes: ['join'], count: 1, critical: false });
});

test('ended jobs, routes of other outcomes and loops do not depend on the failed job', () => {
  const nodes = [
    node('work'),
    stuck({ after: ['work'], on: { succeeded: ['next'], failed: ['work'], blocked: ['repair'] } }),
    node('next'),
    node('repair'),
  ];
  expect(dependentsIn(nodes, succeeds('work'))).toEqual({ nodes: ['next'], count: 1, critical: true });
});

test('a job that needs an artifact of the failed one depends on it', () => {
  const file = { type: 'custom', typeId: 'report', key: 'k' } as const;
  const nodes = [
    stuck({ produces: { succeeded: [file] } }),
    node('reader', { needs: [file] }),
    node('last', { after: ['reader'] }),
  ];
  expect(dependentsIn(nodes)).toEqual({ nodes: ['reader', 'last'], count: 2, critical: true });
});

test('a long list of dependents is cut, and its length is exact', () => {
  const many = Array.from({ length: 80 }, (_, i) => node(`n${String(i)}`, { after: ['stuck'] }));
  const found = dependentsIn([stuck(), ...many]);
  expect(found?.nodes).toHaveLength(50);
  expect(found).toMatchObject({ count: 80, critical: true });
});

test('a chain of ten thousand jobs is measured without recursion', () => {
  const chain = Array.from({ length: 10_000 }, (_, i) =>
    node(`n${String(i)}`, { after: [i === 0 ? 'stuck' : `n${String(i - 1)}`] }),
  );
  expect(dependentsIn([stuck(), ...chain])).toMatchObject({ count: 10_000, critical: true });
});
