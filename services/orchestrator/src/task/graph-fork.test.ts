import { describe, expect, test } from 'vitest';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { fails, succeeds } from '../../testing/answers.ts';
import { chain, brief, node } from '../../testing/graphs.ts';
import { type Play, play, playFrom } from '../../testing/play.ts';
import { NOW } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import { forkAt } from './fork.ts';
import { snapshotDue } from './snapshots.ts';
import { absent, type TaskState } from './model/state.ts';

const FORK = TaskId.parse('t-2');

const forked = (origin: Play, version = origin.history.length) => {
  const message = forkAt(origin.history, version, { task: FORK, by: 'ada' });
  if (message === undefined) throw new Error('it never got so far');
  const made = taskDecider.decide(absent, message, { now: NOW });
  const state = made.events.reduce<TaskState>((before, event) => taskDecider.evolve(before, event), absent);
  return { message, made, said: made.events.map(brief), play: playFrom(state, NOW) };
};

describe('a fork', () => {
  const origin = play([...chain('a', 'b', 'c'), node('d')]).when(
    succeeds('a', { outputs: { n: 1 }, context: { worktree: 'w1' } }),
    succeeds('d'),
    fails('b'),
  );

  test('a fork does not repeat ended nodes and continues with the rest', () => {
    const fork = forked(origin);
    expect(fork.said).toEqual(['submitted', 'ready', 'step_ordered b.run']);
    expect(fork.play.statusOf('a', 'b', 'c', 'd')).toEqual(['succeeded', 'running', 'idle', 'succeeded']);
  });

  test('a fork has the outputs and contexts of the carried nodes', () => {
    const { play: fork, made } = forked(origin);
    expect(fork.node('a')).toMatchObject({ outputs: { n: 1 }, context: { worktree: 'w1' } });
    const [order] = made.send.filter(({ subject }) => subject.startsWith('hp.cmd.effect.run'));
    expect(order?.data).toMatchObject({ effect: { task: FORK, args: { context: { worktree: 'w1' } } } });
    expect(fork.when(succeeds('b'), succeeds('c')).task.phase).toBe('completed');
  });

  test('a fork at an earlier version carries the nodes that had ended then', () => {
    const before = origin.history.findIndex((event) => event.type === 'node_succeeded');
    expect(forked(origin, before).said.slice(2)).toEqual(['step_ordered a.run', 'step_ordered d.run']);
  });

  test('a fork of a completed task completes at once', () => {
    const done = play(chain('a')).when(succeeds('a'));
    expect(forked(done).said).toEqual(['submitted', 'ready', 'completed']);
  });

  test('a fork at an unknown version is refused', () => {
    expect(forkAt(origin.history, origin.history.length + 1, { task: FORK, by: 'ada' })).toBeUndefined();
    expect(forkAt(origin.history, 0, { task: FORK, by: 'ada' })).toBeUndefined();
  });

  test('a repeated fork finds the same task, and another one under its id is refused', () => {
    const { message, play: fork } = forked(origin);
    expect(taskDecider.decide(fork.state, message, { now: NOW }).events).toEqual([]);
    const other = forkAt(origin.history, 2, { task: FORK, by: 'ada' });
    const made = other && taskDecider.decide(fork.state, other, { now: NOW });
    expect(made?.answer).toMatchObject({ error: { code: 'ORCHESTRATOR_TASK_CONFLICT' } });
  });

  test('a fork names its origin', () => {
    expect(forked(origin).made.events[0]).toMatchObject({
      forkedFrom: { task: 't-1', version: origin.history.length },
    });
  });
});

describe('a snapshot', () => {
  const small = play(chain('a', 'b')).when(succeeds('a'));
  const event = small.history.slice(2, 3);
  const versionsIn = (state: TaskState, upTo: number): readonly number[] =>
    Array.from({ length: upTo }, (_, index) => index + 1).filter((version) =>
      snapshotDue(state, version, event),
    );

  test('a short history has no snapshot', () => {
    expect(versionsIn(small.state, 63)).toEqual([]);
    expect(snapshotDue(small.state, small.task.version, small.history)).toBe(false);
  });

  test('a task takes a snapshot after every 64 events', () => {
    expect(versionsIn(small.state, 200)).toEqual([64, 128, 192]);
    expect(versionsIn(absent, 64)).toEqual([64]);
    expect(snapshotDue(small.state, 66, small.history.slice(0, 3))).toBe(true);
  });

  test('a large graph takes fewer snapshots, and at least one per 1,000 events', () => {
    const graph = (nodes: number): TaskState =>
      play(chain(...Array.from({ length: nodes }, (_, index) => `n${String(index)}`))).state;
    expect(versionsIn(graph(3_200), 401)).toEqual([200, 400]);
    const [node] = small.task.definition.nodes;
    const nodes = Array.from({ length: 20_000 }, () => node);
    const huge = { ...small.task, definition: { ...small.task.definition, nodes } } as TaskState;
    expect(versionsIn(huge, 2_000)).toEqual([1_000, 2_000]);
  });
});
