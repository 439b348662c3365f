import { isEndPhase } from '@holdpoint/contracts/task/status';
import { type FailureClass, FailureClass as Classes } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { nodeState, type Task } from '@holdpoint/orchestrator/task/model/state';
import { TABLE, THRESHOLDS } from '@holdpoint/recovery/attempts/verdict-table';
import { taskIn, type TaskChange } from '../event-states.ts';
import type { World } from '../world.ts';

/** How many failures of one class may be followed by another attempt. */
const followedOf = (failureClass: FailureClass, rules: RecoveryRules = {}): number => {
  const own = failureClass === 'CONTEXT_EXHAUSTED' ? rules.continues : undefined;
  const threshold = own ?? rules.thresholds?.[failureClass] ?? THRESHOLDS[failureClass];
  const rows = TABLE.filter(({ class: of, verdict }) => of === failureClass && FOLLOWED.has(verdict));
  return Math.max(0, ...rows.map(({ untilThreshold: up }) => (up === 'before' ? threshold - 1 : threshold)));
};

const FOLLOWED: ReadonlySet<string> = new Set(['retry', 'rollback', 'continue']);

/**
 * The number of failures of a job before a person is asked, unless it succeeds in between: the sum over all
 * classes, plus one. With the built-in thresholds: 2 + 1 + 1 + 4 + 5 + 2 + 1 = 16.
 */
export const failuresMost = (rules?: RecoveryRules): number =>
  Classes.options.reduce((sum, each) => sum + followedOf(each, rules), 0) + 1;

/** The number of new sessions of a job before a person is asked, unless it succeeds in between. */
const continuesMost = (rules?: RecoveryRules): number => followedOf('CONTEXT_EXHAUSTED', rules);

/** A person has decided about the node: counting starts again. */
const isWord = (event: TaskEvent): boolean => {
  switch (event.type) {
    case 'stuck_answered':
    case 'in_doubt_answered':
    case 'approval_closed':
      return true;
    case 'node_retrying':
      return event.command !== undefined;
    case 'restarted':
      return event.command !== undefined || event.route === undefined || event.by !== undefined;
    default:
      return false;
  }
};

export const nodesOf = (event: TaskEvent): readonly string[] => {
  if (event.type === 'restarted') return event.nodes;
  return 'node' in event && event.node !== undefined ? [event.node] : [];
};

/** Bounds the attempts of a job and checks what happens between two of them. */
export const watchAttempts = ({ checker, books }: World) => {
  const failures = new Map<string, number>();
  const continues = new Map<string, number>();
  /** By job and attempt: the task of its rollback. */
  const rollbacks = new Map<string, string>();
  /** All outcomes of a task, also before a person restarted it. */
  const ends = new Map<string, Set<string>>();

  const count = (counts: Map<string, number>, job: string): number => {
    const by = (counts.get(job) ?? 0) + 1;
    counts.set(job, by);
    return by;
  };

  const checkRollback = (before: Task, event: TaskEvent): void => {
    if (event.type === 'rollback_ordered') {
      const key = `${before.id}/${event.node} ${String(event.attempt)}`;
      checker.expect(
        'an attempt has one rollback',
        !rollbacks.has(key) && nodeState(before, event.node).attempt === event.attempt,
        before.id,
        () => `${key} by ${event.by}, and by ${String(rollbacks.get(key))}`,
      );
      rollbacks.set(key, event.by);
    }
    if (event.type === 'rollback_ended') {
      const rollback = taskIn(books, event.by);
      checker.expect(
        'a job continues only after its rollback',
        ends.get(event.by)?.has(event.outcome) === true,
        before.id,
        () =>
          `${event.node}: ${event.by} is said to have ${event.outcome}, and is ${String(rollback?.phase)}`,
      );
    }
    if (
      (event.type === 'node_retrying' || event.type === 'restarted') &&
      event.verdict?.kind === 'rollback'
    ) {
      const node = event.type === 'restarted' ? (event.route ?? event.node) : event.node;
      const { attempt, preparation: mending } = nodeState(before, node);
      const by = rollbacks.get(`${before.id}/${node} ${String(attempt)}`) ?? '';
      checker.expect(
        'a job continues only after its rollback',
        mending === undefined && taskIn(books, by)?.outcome === 'succeeded',
        before.id,
        () => `${event.type} of ${node} ${String(attempt)}: ${by} is ${String(taskIn(books, by)?.phase)}`,
      );
    }
  };

  const checkSession = (before: Task, event: TaskEvent): void => {
    if (event.type !== 'node_retrying' || event.verdict?.kind !== 'continue') return;
    const { session = 1, preparation: mending } = nodeState(before, event.node);
    checker.expect(
      'a job continues in the session that follows its last one, after the hand-off',
      event.session === session + 1 && mending?.kind === 'continue',
      before.id,
      () => `${event.node} goes on in session ${String(event.session)} after ${String(session)}`,
    );
    const most = continuesMost(before.definition.recovery);
    const by = count(continues, `${before.id}/${event.node}`);
    checker.expect(
      'a job continues in new sessions no more often than its limit',
      by <= most,
      before.id,
      () => `${event.node} goes on for the ${String(by)}th time, ${String(most)} are allowed`,
    );
  };

  return ({ before, event, after }: TaskChange): void => {
    if (before.phase === 'absent' || after.phase === 'absent') return;
    if (isEndPhase(after.phase) && after.outcome !== undefined)
      ends.set(before.id, (ends.get(before.id) ?? new Set()).add(after.outcome));
    if (isWord(event) || event.type === 'node_succeeded')
      for (const node of nodesOf(event)) {
        failures.delete(`${before.id}/${node}`);
        continues.delete(`${before.id}/${node}`);
      }
    // Operators decide about a paused failure at once.
    if (event.type === 'node_failed' && event.paused === undefined) {
      const most = failuresMost(before.definition.recovery);
      const by = count(failures, `${before.id}/${event.node}`);
      checker.expect(
        'a job fails no more often than the verdict table allows without a person',
        by <= most,
        before.id,
        () => `${event.node} has failed ${String(by)} times, ${String(most)} are allowed`,
      );
    }
    checkRollback(before, event);
    checkSession(before, event);
  };
};
