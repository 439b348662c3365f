import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import { control, node } from '../../testing/graphs.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './model/messages.ts';
import type { Sender } from './model/sender.ts';
import { absent, type Task, type TaskState } from './model/state.ts';
import { heldWorktree } from './outgoing/evidence.ts';

const ROLLBACK = TaskId.parse('t-rollback');
const VICTIM = TaskId.parse('t-1');
const worktree = '.holdpoint/worktrees/work-t-1-prepare';
const rollbackOf = { task: VICTIM, node: NodeId.parse('work'), attempt: 1, worktree };

const submission = (sender: Sender, workflow = 'rollback'): TaskMessage => ({
  kind: 'submit',
  task: ROLLBACK,
  payload: {
    id: ROLLBACK,
    workflow,
    goal: 'go back',
    repository: '/srv/repository',
    requestedBy: 'ada',
    inputs: { task: VICTIM, node: 'work', attempt: 1, commit: 'a'.repeat(40), place: { worktree } },
    rollbackOf,
  },
  sender,
});
const decided = (message: TaskMessage) => taskDecider.decide(absent, message, { now: 1 });

describe('the mark of a rollback', () => {
  test('only the orchestrator marks a rollback as ordered by a verdict', () => {
    const ada: Sender = { kind: 'person', name: 'ada', groups: ['operators'] };
    for (const sender of [ada, { kind: 'unverified' } as const])
      expect(decided(submission(sender)).answer).toMatchObject({ error: { code: 'ERR_FORBIDDEN' } });
    const { events } = decided(submission({ kind: 'service' }));
    expect(events[0]).toMatchObject({ type: 'submitted', rollbackOf });
  });

  test('only a task of the workflow rollback carries it', () => {
    expect(decided(submission({ kind: 'service' }, 'sample')).answer).toMatchObject({
      error: { code: 'ERR_FORBIDDEN' },
    });
  });
});

/** A task in which a node has left this worktree to the next. */
const taskWith = (uses: string, made: string, id = VICTIM): Task => {
  const nodes = [node('prepare', { uses }), control('work', { after: ['prepare'] })];
  const state = [
    ...decided({
      kind: 'submit',
      task: id,
      payload: {
        workflow: 'w',
        goal: 'g',
        repository: '/srv/repository',
        definition: { id: 'w', version: '1', nodes },
      },
    }).events,
    {
      type: 'node_succeeded',
      id,
      phase: 'executing',
      node: NodeId.parse('prepare'),
      attempt: 1,
      outputs: { worktree: made },
      context: { worktree: made },
    } as const,
  ].reduce<TaskState>((before, event) => taskDecider.evolve(before, event), absent);
  if (state.phase === 'absent') throw new Error('no task');
  return state;
};
const PREPARE = 'cap.env.builtin.worktree.prepare';
const held = (task: Task): string | undefined => heldWorktree(task, NodeId.parse('work'));

test('the mark names a worktree only if a node of the task has made it', () => {
  expect(held(taskWith(PREPARE, worktree))).toBe(worktree);
  expect(held(taskWith(PREPARE, `${worktree}-0123abcd`))).toBe(`${worktree}-0123abcd`);
  for (const other of ['work-t-2-prepare', 'work-t-1-other', 'victim'])
    expect(held(taskWith(PREPARE, `.holdpoint/worktrees/${other}`))).toBeUndefined();
  expect(held(taskWith('cap.env.shell.command.run', worktree))).toBeUndefined();
  expect(held(taskWith(PREPARE, worktree, TaskId.parse('t-fork')))).toBeUndefined();
});
