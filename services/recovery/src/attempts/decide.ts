import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { AssessFailure, RecordAttempt, MarkJobUnstuck } from '@holdpoint/contracts/recovery/commands';
import type { FailureAssessed } from '@holdpoint/contracts/recovery/events';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import {
  type Decider,
  type Decision,
  decision,
  type Outgoing,
  type TimerChange,
  type TimerFired,
} from '@holdpoint/runtime/decider';
import {
  type AttemptsEvent,
  failureOf,
  evolveHistory,
  type History,
  isFailure,
  isStuckBy,
  EMPTY_HISTORY,
  sessionOf,
  stuckAt,
} from './history.ts';
import { escalated, isPause, judge } from './verdict.ts';

export type AttemptsMessage =
  | { readonly kind: 'assess'; readonly payload: AssessFailure }
  | { readonly kind: 'record_attempt'; readonly payload: RecordAttempt }
  | { readonly kind: 'job_unstuck'; readonly payload: MarkJobUnstuck }
  | TimerFired;

/** Characters kept from the end of the output; the complete log is an artifact. */
const OUTPUT_KEPT = 4_000;

/**
 * The orchestrator may have lost the answer to a stuck job. Its verdict is sent again at growing intervals
 * until the orchestrator reports the resolution.
 */
export type StuckReminders = { readonly firstMs: number; readonly longestMs: number };
const STUCK_REMINDERS: StuckReminders = { firstMs: 300_000, longestMs: 3_600_000 };

const stuckTimer = (node: NodeId): string => `stuck:${node}`;

const stuckReminder = (
  node: NodeId,
  count: number,
  now: number,
  { firstMs, longestMs }: StuckReminders,
): TimerChange => ({
  set: stuckTimer(node),
  dueAt: now + Math.min(firstMs * 2 ** count, longestMs),
  data: { count },
});

/**
 * The id of a repeated verdict contains the time, so that the bus does not drop it; the orchestrator applies
 * it once.
 */
const suggest = ({ task, node, attempt, verdict }: FailureAssessed, now: number): Outgoing => ({
  subject: subjects.taskCommand('recover'),
  id: `task.recover.${task}.${node}.${String(attempt)}.${String(now)}`,
  type: eventType('task', 'recover'),
  data: { task, node, attempt, verdict },
});

/** Built-in workflows do not count for circuits of user workflows. */
const OWN_WORKFLOWS: ReadonlySet<string> = new Set(['rollback', 'undo']);

/** Failed work counts for the workflow. Failed targets have circuits of their own. */
const isWorkflowFailure = ({ error, verdict }: FailureAssessed): boolean =>
  error.code === 'NODE_FAILED' || verdict.class === 'WORKER_CRASH';

/** A stuck job counts for the circuit of its workflow. */
const circuitFailure = (event: FailureAssessed, { workflow, rules }: AssessFailure): readonly Outgoing[] => {
  const { task, node, attempt } = event;
  const [id] = workflow?.split('@') ?? [];
  if (id === undefined || id === '' || OWN_WORKFLOWS.has(id) || !isWorkflowFailure(event)) return [];
  return [
    {
      subject: subjects.recoveryCommand('circuit_record_failure'),
      id: `recovery.circuit_record_failure.${task}.${node}.${String(attempt)}`,
      type: eventType('recovery', 'circuit_record_failure'),
      data: { target: workflowCircuit(id), task, ...(rules?.circuit && { circuit: rules.circuit }) },
    },
  ];
};

const newAssessment = (state: History, failure: AssessFailure, now: number): FailureAssessed => {
  const { task, node, attempt, error, uses, workflow, goal, exitCode, report, output } = failure;
  return {
    type: 'assessed',
    task,
    node,
    attempt,
    at: now,
    session: failure.session ?? sessionOf(state, node),
    error,
    ...judge(state, failure),
    ...(uses !== undefined && { uses }),
    ...(workflow !== undefined && { workflow }),
    ...(goal !== undefined && { goal }),
    ...(exitCode !== undefined && { exitCode }),
    ...(report && { report }),
    ...(output !== undefined && { output: output.slice(-OUTPUT_KEPT).toWellFormed() }),
  };
};

/** The orchestrator does not follow the verdict: the job escalates instead. */
const escalatedAssessment = (
  state: History,
  failure: AssessFailure,
  known: FailureAssessed,
): FailureAssessed => ({
  ...known,
  verdict: escalated(state, failure, known.verdict),
});

/** Whether the failure asks for another verdict than the known one of the same attempt. */
const replaces = (failure: AssessFailure, known: FailureAssessed): boolean =>
  failure.paused === undefined ? failure.refused !== undefined && !isStuckBy(known) : !isPause(known.verdict);

const assess = (
  state: History,
  failure: AssessFailure,
  now: number,
  reminders: StuckReminders,
): Decision<AttemptsEvent> => {
  const { node, attempt } = failure;
  const known = failureOf(state, node, attempt);
  if (known !== undefined && !replaces(failure, known)) return decision({ send: [suggest(known, now)] });
  // The first message about an attempt may already be a refusal. The job escalates then too, or the same
  // verdict would be refused again. A pause is another failure than the one that is known.
  const first = failure.paused === undefined && known ? known : newAssessment(state, failure, now);
  const isLeft = failure.refused !== undefined || failure.paused !== undefined;
  const event = isLeft ? escalatedAssessment(state, failure, first) : first;
  const isStuck = isStuckBy(event);
  return decision({
    events: [event],
    send: [suggest(event, now), ...(isStuck ? circuitFailure(event, failure) : [])],
    timers: isStuck ? [stuckReminder(node, 0, now, reminders)] : clearStuckTimer(state, node, attempt),
  });
};

const clearStuckTimer = (state: History, node: NodeId, attempt: number): readonly TimerChange[] => {
  const stuck = stuckAt(state, node);
  return stuck === undefined || attempt < stuck ? [] : [{ clear: stuckTimer(node) }];
};

const record = (state: History, payload: RecordAttempt, now: number): Decision<AttemptsEvent> => {
  const { task, node, attempt, uses, workflow, goal, exitCode, report, good, place, session } = payload;
  if (state.attempts.some((each) => !isFailure(each) && each.node === node && each.attempt === attempt))
    return decision({});
  return decision({
    events: [
      {
        type: 'attempt_recorded',
        task,
        node,
        attempt,
        at: now,
        session: session ?? sessionOf(state, node),
        ...(uses !== undefined && { uses }),
        ...(workflow !== undefined && { workflow }),
        ...(goal !== undefined && { goal }),
        ...(exitCode !== undefined && { exitCode }),
        ...(report && { report }),
        ...(good !== undefined && { good }),
        ...(place?.worktree !== undefined && { worktree: place.worktree }),
      },
    ],
    timers: clearStuckTimer(state, node, attempt),
  });
};

const markUnstuck = (
  state: History,
  { task, node, attempt, resolution: how, by }: MarkJobUnstuck,
  now: number,
): Decision<AttemptsEvent> =>
  stuckAt(state, node) === attempt
    ? decision({
        events: [
          {
            type: 'job_unstuck',
            task,
            node,
            attempt,
            at: now,
            resolution: how,
            ...(by !== undefined && { by }),
          },
        ],
        timers: clearStuckTimer(state, node, attempt),
      })
    : decision({});

/**
 * Sends the verdict of a stuck job again. If the job is no longer stuck, the orchestrator answers with its
 * resolution.
 */
const stuckTimerFired = (
  state: History,
  { name, data }: TimerFired,
  now: number,
  reminders: StuckReminders,
): Decision<AttemptsEvent> => {
  const node = name.slice('stuck:'.length) as NodeId;
  const stuck = stuckAt(state, node);
  const last = stuck === undefined ? undefined : failureOf(state, node, stuck);
  if (last === undefined) return decision({});
  const before = typeof data === 'object' && data !== null && 'count' in data ? Number(data['count']) : 0;
  return decision({ send: [suggest(last, now)], timers: [stuckReminder(node, before + 1, now, reminders)] });
};

/** The decider for the attempts of one task and its stuck jobs. */
export const createAttemptsDecider = (
  reminders: StuckReminders = STUCK_REMINDERS,
): Decider<History, AttemptsMessage, AttemptsEvent> => ({
  initial: EMPTY_HISTORY,
  evolve: evolveHistory,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'assess':
        return assess(state, message.payload, now, reminders);
      case 'record_attempt':
        return record(state, message.payload, now);
      case 'job_unstuck':
        return markUnstuck(state, message.payload, now);
      case 'timer':
        return stuckTimerFired(state, message, now, reminders);
    }
  },
});

export const attemptsDecider = createAttemptsDecider();
