import { repositoryIdOf } from '@holdpoint/contracts/values/ids';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';
import type { Registry, LockHolder } from '@holdpoint/orchestrator/registry/state';
import { findNode, nodeDefinition, type Task } from '@holdpoint/orchestrator/task/model/state';
import {
  type BoardChange,
  boardsIn,
  type OrchestratorChange,
  taskIn,
  type TaskChange,
} from '../../event-states.ts';
import type { World } from '../../world.ts';

const collide = (one: readonly Lock[], other: readonly Lock[]): boolean =>
  one.some(({ key, mode }) =>
    other.some((each) => each.key === key && (mode === 'exclusive' || each.mode === 'exclusive')),
  );

const isOf = ({ task, node }: LockHolder, other: { readonly task: string; readonly node: string }): boolean =>
  task === other.task && node === other.node;

const OF_A_RUN = /^custom:(prompt_text|plan_text|operation_output):/;

/** Locks exclude each other, and a running job keeps its locks. */
export const checkBoard = ({ checker, books }: World, { aggregate, event, after }: BoardChange): void => {
  if (after.phase !== 'board') return;
  if (event.type === 'lock_acquired') {
    const other = after.held.find((each) => !isOf(each, event) && collide(each.locks, event.locks));
    checker.expect('an exclusive lock has one holder', other === undefined, event.task, () =>
      JSON.stringify({ event, other, aggregate }),
    );
  }
  if (event.type === 'artifacts_reported') {
    const own = event.artifacts.find(({ label }) => OF_A_RUN.test(label));
    checker.expect(
      'artifacts of one task are not in the repository registry',
      own === undefined,
      event.task,
      () => JSON.stringify(own),
    );
  }
  if (event.type === 'lock_released') {
    const task = taskIn(books, event.task);
    const state = task && findNode(task, event.node);
    checker.expect(
      'no lock is released under a running job',
      state?.attempt !== event.attempt || state.locks !== 'held',
      event.task,
      () => JSON.stringify({ event, state }),
    );
  }
};

const EARLY: ReadonlySet<string> = new Set(['inspect', 'preview']);

/** The registry before the later changes of the same commit. The books have them already. */
const boardOf = (
  { books }: World,
  task: Task,
  later: readonly OrchestratorChange[],
): Registry | undefined => {
  const id = repositoryIdOf(task.repository ?? '');
  const next = later.find(({ aggregate }) => aggregate === id);
  const state = next === undefined ? books.orchestrator.stateOf(id) : next.before;
  return state.phase === 'board' ? state : undefined;
};

/** A job orders effects only while the registry says that it holds its locks. */
export const checkLocked = (
  world: World,
  { before, event, after }: TaskChange,
  later: readonly OrchestratorChange[],
): void => {
  if (before.phase === 'absent' || after.phase === 'absent' || after.repository === undefined) return;
  const orders = event.type === 'effect_ordered' || (event.type === 'step_ordered' && !EARLY.has(event.step));
  if (!orders) return;
  const { locks = [] } = nodeDefinition(after, event.node);
  if (locks.length === 0) return;
  const job = { task: after.id, node: event.node };
  const held = boardOf(world, after, later)?.held.find(
    (each) => isOf(each, job) && each.attempt === event.attempt,
  );
  const all = locks.every(({ key, mode }) =>
    held?.locks.some((lock) => lock.key === key && (lock.mode === mode || lock.mode === 'exclusive')),
  );
  world.checker.expect(
    'a job runs only while it holds its locks',
    all,
    after.id,
    () => `${event.type} of ${event.node}, attempt ${String(event.attempt)}: ${JSON.stringify(held)}`,
  );
};

/** Once nothing is in progress, the registry has no holder and no queue entry of an ended job. */
export const checkQuietBoards = ({ checker, books }: World): void => {
  for (const { id, held, waiting } of boardsIn(books))
    for (const job of [...held, ...waiting]) {
      const task = taskIn(books, job.task);
      const state = task && findNode(task, job.node);
      checker.expect(
        'the lock registry holds nothing for ended jobs',
        state?.attempt === job.attempt && state.locks !== undefined,
        job.task,
        () => `${id}: ${JSON.stringify({ job, state })}`,
      );
    }
};
