import { describe, expect, test } from 'vitest';
import { blocks, succeeds } from '../../testing/answers.ts';
import { control, gate, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { taskView } from './task-view.ts';

describe('the sinks of a task', () => {
  test('sinks are the nodes without a route on success', () => {
    const nodes = [control('a'), control('b', { after: ['a'] }), control('c', { after: ['a'] })];
    expect(taskView(play(nodes).task).sinks).toEqual(['b', 'c']);
  });

  test('a node with a route back is no sink, because it may never run', () => {
    const nodes = [
      node('merge', { on: { succeeded: ['end'], blocked: ['resolve'] } }),
      gate('resolve', { on: { succeeded: ['merge'] } }),
      control('end'),
    ];
    const { task, statusOf } = play(nodes).when(succeeds('merge'));
    expect(statusOf('resolve')).toEqual(['unreached']);
    expect(taskView(task).sinks).toEqual(['end']);
  });
});

describe('a conflict gate', () => {
  const conflicted = () =>
    play([
      node('merge', { on: { succeeded: ['end'], blocked: ['resolve'] } }),
      gate('resolve', { on: { succeeded: ['merge'] } }),
      control('end'),
    ]);
  const jobOf = (task: Parameters<typeof taskView>[0]) => {
    const found = taskView(task).nodes.find(({ id }) => id === 'resolve');
    return { job: found?.job, detail: found?.detail, reason: found?.reason };
  };

  test('a gate that resolved its conflict is listed as succeeded, although the second merge needs no gate', () => {
    const { task } = conflicted().when(
      blocks('merge'),
      succeeds('resolve', { detail: 'resolved by the agent' }),
      succeeds('merge'),
    );
    expect(task.phase).toBe('completed');
    const detail = 'attempt 1: resolved by the agent; not needed again';
    expect(jobOf(task)).toEqual({ job: 'succeeded', detail, reason: undefined });
  });

  test('a gate that no conflict needed is listed as unreached', () => {
    const { task } = conflicted().when(succeeds('merge'));
    expect(jobOf(task)).toMatchObject({ job: 'unreached', detail: undefined });
  });
});

describe('the place where a job works', () => {
  const contextOf = (task: Parameters<typeof taskView>[0], name: string) =>
    taskView(task).nodes.find(({ id }) => id === name)?.context;

  test('the view shows the context while the job works, and not before its activation', () => {
    const { task } = play([
      node('prepare', { on: { succeeded: ['work'] } }),
      node('work', { on: { succeeded: ['after'] } }),
      node('after'),
    ]).when(succeeds('prepare', { context: { worktree: 'w1', branch: 'draft/x' } }));
    expect(contextOf(task, 'work')).toEqual({ worktree: 'w1', branch: 'draft/x' });
    expect(contextOf(task, 'after')).toBeUndefined();
  });
});
