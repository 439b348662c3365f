import { describe, expect, test } from 'vitest';
import { succeeds } from '../../testing/answers.ts';
import { control, gate, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { taskView } from './task-view.ts';

describe('the last jobs of a run', () => {
  test('are those that lead nowhere when they succeed', () => {
    const nodes = [control('a'), control('b', { after: ['a'] }), control('c', { after: ['a'] })];
    expect(taskView(play(nodes).task).sinks).toEqual(['b', 'c']);
  });

  test('what leads back is none of them: a run without a conflict never comes to its conflict gate', () => {
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

describe('where a job works', () => {
  const contextOf = (task: Parameters<typeof taskView>[0], name: string) =>
    taskView(task).nodes.find(({ id }) => id === name)?.context;

  test('is told while it works, and not before its turn has come', () => {
    const { task } = play([
      node('prepare', { on: { succeeded: ['work'] } }),
      node('work', { on: { succeeded: ['after'] } }),
      node('after'),
    ]).when(succeeds('prepare', { context: { worktree: 'w1', branch: 'draft/x' } }));
    expect(contextOf(task, 'work')).toEqual({ worktree: 'w1', branch: 'draft/x' });
    expect(contextOf(task, 'after')).toBeUndefined();
  });
});
