import { describe, expect, test } from 'vitest';
import { succeeds } from '../../testing/answers.ts';
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
