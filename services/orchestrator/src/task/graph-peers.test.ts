import { describe, expect, test } from 'vitest';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { ended, fails, succeeds, watches } from '../../testing/answers.ts';
import { chain, id, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { byHand, NOW } from '../../testing/tasks.ts';
import { absent } from './model/state.ts';
import { taskDecider } from './decide.ts';

const waiting = (...after: string[]) => play([node('a'), node('b', { after: ['a'] })], { after });
const told = (made: { readonly sent: (name: string) => readonly { readonly data: object }[] }) =>
  made.sent('task.notify').map(({ data }) => (data as { notification: object }).notification);

describe('--after', () => {
  test('entries wait for other tasks or nodes and watch them', () => {
    const task = waiting('t-9', 't-8/last');
    expect(task.said.slice(2)).toEqual(['node_waiting a dependencies: waiting on job t-9']);
    expect(task.sent('task.watch').map(({ data }) => data)).toEqual([
      { id: 't-9', watcher: 't-1' },
      { id: 't-8', watcher: 't-1', node: 'last' },
    ]);
  });

  test('all peers must succeed before anything starts', () => {
    const one = waiting('t-9', 't-8/last').when(ended('t-9', 'succeeded'));
    expect(one.said).toEqual([
      'peer_ended succeeded',
      'node_waiting a dependencies: waiting on job t-8/last',
    ]);
    expect(one.when(ended('t-8/last', 'succeeded')).said).toEqual([
      'peer_ended last succeeded',
      'step_ordered a.run',
    ]);
  });

  test.each([
    ['failed', 'dependency t-9 failed'],
    ['blocked', 'dependency t-9 blocked'],
    ['cancelled', 'dependency t-9 cancelled'],
    ['unknown', 'there is no job t-9'],
  ] as const)('a peer that ended %s blocks the task', (outcome, reason) => {
    const over = waiting('t-9').when(ended('t-9', outcome));
    expect(over.said.slice(1)).toEqual(['node_ended a blocked', 'failed blocked']);
    expect(over.node('a').reason).toBe(reason);
    expect(over.task.error?.code).toBe('NODE_BLOCKED');
  });

  test('peers are watched again until they answer, and no longer', () => {
    const task = waiting('t-9').wait(20_000);
    expect(task.sent('task.watch')).toHaveLength(1);
    expect(task.timers.has('peers')).toBe(true);
    expect(task.when(ended('t-9', 'succeeded')).timers.has('peers')).toBe(false);
    expect(task.when(byHand('cancel')).timers.has('peers')).toBe(false);
  });

  test('the first answer of a peer is final', () => {
    const task = waiting('t-9', 't-8').when(ended('t-9', 'succeeded'));
    const again = taskDecider.decide(task.state, ended('t-9', 'failed')(task.task), { now: NOW });
    expect(again.events).toEqual([]);
  });
});

describe('a watched task', () => {
  test('watchers hear of the end of the task, and at once after it', () => {
    const watched = play(chain('a', 'b')).when(watches('t-7'));
    expect(watched.said).toEqual(['watcher_added']);
    expect(told(watched.when(succeeds('a')))).toEqual([]);
    const over = watched.when(succeeds('a'), succeeds('b'));
    expect(told(over)).toMatchObject([{ kind: 'peer', task: 't-7', peer: 't-1', outcome: 'succeeded' }]);
    expect(told(over.when(watches('t-6')))).toMatchObject([{ task: 't-6', outcome: 'succeeded' }]);
    expect(over.when(watches('t-6')).said).toEqual([]);
  });

  test('watchers of a node hear of its end', () => {
    const watched = play(chain('a', 'b')).when(watches('t-7', 'a'));
    expect(told(watched.when(succeeds('a')))).toMatchObject([{ node: 'a', outcome: 'succeeded' }]);
    expect(told(watched.when(fails('a')))).toMatchObject([{ node: 'a', outcome: 'failed' }]);
  });

  test('watchers hear of every node that will not run', () => {
    const failed = play(chain('a', 'b')).when(watches('t-7', 'b'), fails('a'));
    expect(told(failed)).toMatchObject([{ node: 'b', outcome: 'blocked' }]);
    const unreached = play([node('a', { on: { failed: ['b'] } }), node('b')]).when(
      watches('t-7', 'b'),
      succeeds('a'),
    );
    expect(told(unreached)).toMatchObject([{ node: 'b', outcome: 'blocked' }]);
  });

  test('a repeated watch is recorded once', () => {
    const watched = play(chain('a')).when(watches('t-7'));
    expect(taskDecider.decide(watched.state, watches('t-7')(watched.task), { now: NOW }).events).toEqual([]);
  });

  test('a watch of an unknown node is answered at once', () => {
    expect(told(play(chain('a')).when(watches('t-7', 'nowhere')))).toMatchObject([{ outcome: 'unknown' }]);
  });

  test('a watch of an unknown task is answered at once', () => {
    const payload = { id: TaskId.parse('t-1'), watcher: TaskId.parse('t-7') };
    const made = taskDecider.decide(absent, { kind: 'watch', payload, task: payload.id }, { now: NOW });
    expect(made.events).toEqual([]);
    expect(made.send).toMatchObject([{ data: { id: 't-7', notification: { outcome: 'unknown' } } }]);
  });

  test('watchers hear again when a reopened task ends again', () => {
    const over = play(chain('a')).when(
      watches('t-7'),
      fails('a'),
      byHand('retry', { rewind: true, node: id('a') }),
      succeeds('a'),
    );
    expect(told(over)).toMatchObject([{ outcome: 'succeeded' }]);
  });
});
