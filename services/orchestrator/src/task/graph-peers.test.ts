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
  test('the entries wait for another task, or for a node of it, and ask how it ends', () => {
    const task = waiting('t-9', 't-8/last');
    expect(task.said.slice(2)).toEqual(['node_waiting a dependencies: waiting on job t-9']);
    expect(task.sent('task.watch').map(({ data }) => data)).toEqual([
      { id: 't-9', watcher: 't-1' },
      { id: 't-8', watcher: 't-1', node: 'last' },
    ]);
  });

  test('all of them have to succeed before anything starts', () => {
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
  ] as const)('one that has ended %s blocks the task', (outcome, reason) => {
    const over = waiting('t-9').when(ended('t-9', outcome));
    expect(over.said.slice(1)).toEqual(['node_ended a blocked', 'failed blocked']);
    expect(over.node('a').reason).toBe(reason);
    expect(over.task.error?.code).toBe('NODE_BLOCKED');
  });

  test('it is asked again until there is an answer, and no longer', () => {
    const task = waiting('t-9').wait(20_000);
    expect(task.sent('task.watch')).toHaveLength(1);
    expect(task.timers.has('peers')).toBe(true);
    expect(task.when(ended('t-9', 'succeeded')).timers.has('peers')).toBe(false);
    expect(task.when(byHand('cancel')).timers.has('peers')).toBe(false);
  });

  test('what a peer is said to have come to is settled by the first answer', () => {
    const task = waiting('t-9', 't-8').when(ended('t-9', 'succeeded'));
    const again = taskDecider.decide(task.state, ended('t-9', 'failed')(task.task), { now: NOW });
    expect(again.events).toEqual([]);
  });
});

describe('a task that others wait for', () => {
  test('tells them when it ends, and once it has ended at once', () => {
    const watched = play(chain('a', 'b')).when(watches('t-7'));
    expect(watched.said).toEqual(['watcher_added']);
    expect(told(watched.when(succeeds('a')))).toEqual([]);
    const over = watched.when(succeeds('a'), succeeds('b'));
    expect(told(over)).toMatchObject([{ kind: 'peer', task: 't-7', peer: 't-1', outcome: 'succeeded' }]);
    expect(told(over.when(watches('t-6')))).toMatchObject([{ task: 't-6', outcome: 'succeeded' }]);
    expect(over.when(watches('t-6')).said).toEqual([]);
  });

  test('tells of a node when that one ends', () => {
    const watched = play(chain('a', 'b')).when(watches('t-7', 'a'));
    expect(told(watched.when(succeeds('a')))).toMatchObject([{ node: 'a', outcome: 'succeeded' }]);
    expect(told(watched.when(fails('a')))).toMatchObject([{ node: 'a', outcome: 'failed' }]);
  });

  test('tells of every node that will not run any more', () => {
    const failed = play(chain('a', 'b')).when(watches('t-7', 'b'), fails('a'));
    expect(told(failed)).toMatchObject([{ node: 'b', outcome: 'blocked' }]);
    const unreached = play([node('a', { on: { failed: ['b'] } }), node('b')]).when(
      watches('t-7', 'b'),
      succeeds('a'),
    );
    expect(told(unreached)).toMatchObject([{ node: 'b', outcome: 'blocked' }]);
  });

  test('does not note the same watcher twice', () => {
    const watched = play(chain('a')).when(watches('t-7'));
    expect(taskDecider.decide(watched.state, watches('t-7')(watched.task), { now: NOW }).events).toEqual([]);
  });

  test('has no node of that name: nobody need wait', () => {
    expect(told(play(chain('a')).when(watches('t-7', 'nowhere')))).toMatchObject([{ outcome: 'unknown' }]);
  });

  test('was never submitted: whoever asks is told so', () => {
    const payload = { id: TaskId.parse('t-1'), watcher: TaskId.parse('t-7') };
    const made = taskDecider.decide(absent, { kind: 'watch', payload, task: payload.id }, { now: NOW });
    expect(made.events).toEqual([]);
    expect(made.send).toMatchObject([{ data: { id: 't-7', notification: { outcome: 'unknown' } } }]);
  });

  test('tells them anew when it was sent back and ends again', () => {
    const over = play(chain('a')).when(
      watches('t-7'),
      fails('a'),
      byHand('retry', { rewind: true, node: id('a') }),
      succeeds('a'),
    );
    expect(told(over)).toMatchObject([{ outcome: 'succeeded' }]);
  });
});
