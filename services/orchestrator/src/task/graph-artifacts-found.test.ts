import { describe, expect, test } from 'vitest';
import {
  applied,
  approves,
  blocks,
  breaks,
  fails,
  locked,
  reports,
  sees,
  succeeds,
  vanishes,
} from '../../testing/answers.ts';
import { branch, effect, id, lock, merge, node, shared, step } from '../../testing/graphs.ts';
import { play, REPOSITORY } from '../../testing/play.ts';
import { byHand } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

// Minimal versions of bugs that the simulator found.

describe('a node with a success and a failure edge from one node', () => {
  test('the node does not run after a third outcome, even if all others have succeeded', () => {
    const task = play([node('a'), node('b', { on: { failed: ['x'] } }), node('x', { after: ['a', 'b'] })], {
      policy: { failureMode: 'continue_independent' },
    });
    expect(task.when(succeeds('a'), blocks('b')).statusOf('x')).toEqual(['unreached']);
    expect(task.when(blocks('b'), succeeds('a')).statusOf('x')).toEqual(['unreached']);
  });
});

describe('an effect with steps around it', () => {
  const around = effect('e', { before: [step('one')], finally: [step('two')] });
  const ordered = () => play([around]).when(approves('e'), succeeds('e'));

  test('a repeated outcome continues the attempt once', () => {
    const task = ordered();
    const told = applied('e')(task.task);
    const once = task.when(told);
    expect(once.said).toEqual(['step_ended e.run', 'step_ordered e.finally.0']);
    expect(taskDecider.decide(once.state, told, { now: once.now })).toMatchObject({ events: [], send: [] });
  });

  test('an applied effect leaves another step in doubt to recovery', () => {
    const task = ordered();
    const told = applied('e')(task.task);
    const doubtful = task.when(told, byHand('pause'), vanishes('e'));
    expect(doubtful.said).toEqual(['node_failed e.finally.0 in_doubt']);
    expect(taskDecider.decide(doubtful.state, told, { now: doubtful.now })).toMatchObject({
      events: [],
      timers: [],
    });
  });

  test('an effect applied during a new request continues, and the request is withdrawn', () => {
    const task = ordered();
    const told = applied('e')(task.task);
    const order = task.sent('effect.run')[0]?.data;
    const late = { type: 'refused', order, error: { code: 'EXECUTOR_GRANT_EXPIRED', message: 'late' } };
    const asked = task.when(reports('e', late as never));
    expect(asked.said).toEqual(['approval_requested e']);
    const paused = asked.when(byHand('pause'), told);
    expect(paused.said).toEqual(['step_ended e.run']);
    expect(paused.sent('approval.cancel')).toHaveLength(1);
    expect(paused.when(byHand('resume')).said).toEqual(['resumed', 'step_ordered e.finally.0']);
  });

  test('a resumed task or node does not order the effect again', () => {
    const task = ordered();
    expect(task.said).toEqual(['step_ended e.before.0', 'effect_ordered e']);
    expect(task.when(byHand('pause'), byHand('resume')).said).toEqual(['resumed']);
    const ofNode = { node: id('e') };
    expect(task.when(byHand('pause', ofNode), byHand('resume', ofNode)).said).toEqual(['node_resumed e']);
  });
});

describe('a preview that the executor refuses', () => {
  test('a refused preview fails the node before any approval', () => {
    const task = play([merge('m', { finally: [step('tidy')] })]);
    const refused = task.when(breaks('m', 'EXECUTOR_PATH_REFUSED', 'preview'));
    expect(refused.said).toEqual(['node_ended m.preview failed', 'failed failed']);
  });
});

describe('a node that needs an artifact of its own run', () => {
  const IN_REPOSITORY = { repository: REPOSITORY, policy: { failureMode: 'continue_independent' } } as const;
  const made = { succeeded: [shared('x')] };

  test('a node with locks does not keep the task open when its artifact can no longer be made', () => {
    const needy = node('needy', { needs: [shared('x')], locks: [lock('k')] });
    const maker = node('maker', { after: ['needy'], produces: made });
    const task = play([node('check', { on: { failed: ['maker'] } }), maker, needy], IN_REPOSITORY);
    const locking = task.when(fails('check'), succeeds('maker'));
    expect(locking.said.at(-1)).toBe('locks_requested needy');
    const waiting = locking.when(byHand('retry', { node: id('check'), rewind: true }), locked('needy'));
    expect(waiting.said.at(-1)).toBe('node_waiting needy artifacts: waiting on custom:thing:x (t-1/maker)');
    const over = waiting.when(succeeds('check'));
    expect(over.said.at(-1)).toBe('failed blocked');
    expect(over.sent('task.registry').map(({ id: key }) => key.split('.')[3])).toContain('release');
  });

  test('a node whose needs change queries the registry under another id', () => {
    const needy = node('needy', { needs: [shared('x'), branch('main')] });
    const task = play([node('maker', { produces: made }), needy], {
      ...IN_REPOSITORY,
      policy: { ...IN_REPOSITORY.policy, missingProducer: 'wait' },
    });
    const require = (one: typeof task) =>
      one.sent('task.registry').find(({ id: key }) => key.includes('.require.'));
    const first = task.wait(20_000);
    const second = first.when(sees('needy', { 'target_branch:main': true }), fails('maker')).wait(20_000);
    expect(require(second)?.data).not.toEqual(require(first)?.data);
    expect(require(second)?.id).not.toBe(require(first)?.id);
  });
});
