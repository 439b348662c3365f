import { isDeepStrictEqual } from 'node:util';
import { RecoverTask } from '@holdpoint/contracts/task/commands';
import type { FailureAssessed } from '@holdpoint/contracts/recovery/events';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { isFailure } from '@holdpoint/recovery/attempts/history';
import { nodeState } from '@holdpoint/orchestrator/task/model/state';
import { isCircuit, type RecoveryChange, type TaskChange } from '../event-states.ts';
import type { World } from '../world.ts';

/** A resent verdict is the same, and a retry gets its hint. */
export const watchVerdicts = (world: World) => {
  const { checker, books, watchers } = world;
  const assessed = new Map<string, readonly Verdict[]>();

  const failureOf = (task: string, node: string, attempt: number): FailureAssessed | undefined => {
    const state = books.recovery.stateOf(task);
    if (state === undefined || isCircuit(state)) return undefined;
    return state.attempts.filter(isFailure).find((each) => each.node === node && each.attempt === attempt);
  };

  const recover = subjects.taskCommand('recover');
  watchers.published.push(({ subject, body }) => {
    if (subject !== recover) return;
    const { task, node, attempt, verdict } = RecoverTask.parse(JSON.parse(body));
    const known = assessed.get(`${task}/${node} ${String(attempt)}`) ?? [];
    checker.expect(
      'a resent verdict is the same',
      known.some((each) => isDeepStrictEqual(JSON.parse(JSON.stringify(each)), { ...verdict })),
      task,
      () => `${node} ${String(attempt)}: ${JSON.stringify({ verdict, known })}`,
    );
  });

  const checkFollowed = ({ aggregate, before, event }: TaskChange): void => {
    if (before.phase === 'absent' || !('verdict' in event) || event.verdict === undefined) return;
    const { node } = event;
    // A route back names its target; `route` is the node that failed.
    const judged = event.type === 'restarted' ? (event.route ?? node) : node;
    const attempt = nodeState(before, judged).attempt;
    const known = failureOf(aggregate, judged, attempt)?.verdict;
    if (event.type !== 'node_retrying' && event.type !== 'restarted') return;
    const { hint = '' } = known ?? {};
    checker.expect(
      'a retry gets the hint about earlier attempts',
      hint !== '' && (event.hint ?? '').includes(hint.slice(0, HINT_MAX_LENGTH)),
      aggregate,
      () => `${event.type} of ${judged} ${String(attempt)}: ${JSON.stringify({ told: event.hint, hint })}`,
    );
  };

  return {
    ofTask: (change: TaskChange): void => {
      checkFollowed(change);
      checkHint(world, change);
    },
    ofRecovery: ({ aggregate, event }: RecoveryChange): void => {
      if (event.type !== 'assessed') return;
      const key = `${aggregate}/${event.node} ${String(event.attempt)}`;
      assessed.set(key, [...(assessed.get(key) ?? []), event.verdict]);
    },
  };
};

/** A hand-off adds text and may cut the end. */
const HINT_MAX_LENGTH = 20_000;

/** The main step of a retry gets the hint as an argument. */
const checkHint = ({ checker }: World, { aggregate, before, event }: TaskChange): void => {
  if (before.phase === 'absent' || event.type !== 'step_ordered' || !event.step.startsWith('run')) return;
  const { hint } = nodeState(before, event.node);
  if (hint === undefined) return;
  checker.expect(
    'a retry gets the hint about earlier attempts',
    event.effect.args['hint'] === hint,
    aggregate,
    () => `${event.node} ${event.step}: ${JSON.stringify({ args: event.effect.args, hint })}`,
  );
};
