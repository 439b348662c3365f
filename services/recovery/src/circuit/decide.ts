import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type {
  AcquireCircuit,
  CircuitClosed,
  CircuitEvent,
  CircuitOpened,
  CircuitView,
  RecordCircuitFailure,
  ReportCircuit,
  SetCircuit,
} from '@holdpoint/contracts/recovery/circuit';
import type { ReportCircuitState } from '@holdpoint/contracts/task/commands';
import { RECOVERY_DEFAULTS } from '@holdpoint/contracts/workflow/recovery-rules';
import { type TaskId, circuitIdOf } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import {
  type Decider,
  type Decision,
  type Outgoing,
  type TimerFired,
  decision,
} from '@holdpoint/runtime/decider';
import { type Circuit, RECOVERY, circuitView, evolveCircuit } from './state.ts';

export type CircuitMessage =
  | { readonly kind: 'circuit_report'; readonly payload: ReportCircuit }
  | { readonly kind: 'circuit_record_failure'; readonly payload: RecordCircuitFailure }
  | { readonly kind: 'circuit_acquire'; readonly payload: AcquireCircuit }
  | { readonly kind: 'set_circuit'; readonly payload: SetCircuit; readonly by: string }
  | TimerFired;

export type CircuitRules = {
  /** How long a target's circuit stays open before one trial order. */
  readonly openMs: number;
  /** How long a trial order keeps its slot without a report; default {@link TRIAL_MS}. */
  readonly trialMs?: number;
  /** How long a trial task keeps its slot; default {@link TASK_TRIAL_MS}. */
  readonly taskTrialMs?: number;
};

/** A trial order without a report loses its slot after this. Longer than any request may take. */
export const TRIAL_MS = 30_000;
/** A trial task may take this long; then another task gets the slot. */
export const TASK_TRIAL_MS = 3_600_000;
/** Tasks ask again after this while another task has the trial slot. */
const TRIAL_RETRY_MS = 30_000;
/** Timer of a circuit: end of `open`, or of a trial. */
const TIMER = 'circuit';

type CircuitDecision = Decision<CircuitEvent>;
const unchanged: CircuitDecision = decision({});

/** Without undefined fields. */
const answerOf = ({ id, target, state, by, reason, until, executor }: CircuitView): JsonObject => ({
  id,
  target,
  state,
  by,
  ...(reason !== undefined && { reason }),
  ...(until !== undefined && { until }),
  ...(executor !== undefined && { executor }),
});

const opened = (
  { target, reason = 'no reason given' }: { readonly target: string; readonly reason?: string | undefined },
  by: string,
  until: number | undefined,
): CircuitDecision => {
  const event: CircuitOpened = { type: 'circuit_opened', id: circuitIdOf(target), target, reason, by, until };
  return decision({
    events: [event],
    timers: [until === undefined ? { clear: TIMER } : { set: TIMER, dueAt: until }],
  });
};

const closed = (
  { target, reason }: { readonly target: string; readonly reason?: string | undefined },
  by: string,
): CircuitDecision => {
  const event: CircuitClosed = { type: 'circuit_closed', id: circuitIdOf(target), target, by, reason };
  return decision({ events: [event], timers: [{ clear: TIMER }] });
};

const halfOpened = ({ id, target }: Circuit, executor?: string): CircuitEvent => ({
  type: 'circuit_half_opened',
  id,
  target,
  ...(executor !== undefined && { executor }),
});

/** A report of an executor. A circuit that a person holds open ignores it. */
const report = (
  state: Circuit | undefined,
  { state: found, executor, ...about }: ReportCircuit,
  now: number,
  { openMs, trialMs = TRIAL_MS }: CircuitRules,
): CircuitDecision => {
  if (state?.held === true) return unchanged;
  switch (found) {
    case 'open':
      return state?.state === 'open' ? unchanged : opened(about, executor, now + openMs);
    case 'closed':
      return state === undefined || state.state === 'closed' ? unchanged : closed(about, executor);
    case 'half_open':
      // The first executor gets the trial slot; the others wait for its result.
      return state?.state === 'half_open' && state.executor === undefined
        ? decision({
            events: [halfOpened(state, executor)],
            timers: [{ set: TIMER, dueAt: now + trialMs }],
          })
        : unchanged;
  }
};

const setCircuit = (
  state: Circuit | undefined,
  { state: wanted, ...about }: SetCircuit,
  by: string,
): CircuitDecision => {
  const id = circuitIdOf(about.target);
  const isSo = wanted === 'open' ? state?.held === true : state === undefined || state.state === 'closed';
  const asItIs: CircuitView =
    state === undefined ? { id, target: about.target, state: 'closed', by } : circuitView(state);
  if (isSo) return decision({ answer: { ok: answerOf(asItIs) } });
  const made = wanted === 'open' ? opened(about, by, undefined) : closed(about, by);
  const after = made.events.reduce(evolveCircuit, state);
  return { ...made, answer: { ok: answerOf(after ?? asItIs) } };
};

/** Counts a stuck task; enough different tasks within the window open the circuit. */
const recordFailure = (
  state: Circuit | undefined,
  { target, task, circuit = RECOVERY_DEFAULTS.circuit }: RecordCircuitFailure,
  now: number,
): CircuitDecision => {
  if (state?.held === true || state?.state === 'open') return unchanged;
  if (state?.failedTasks?.some((each) => each.task === task) === true) return unchanged;
  const { failures, windowMs, coolDownMs } = circuit;
  const counted: CircuitEvent = {
    type: 'circuit_failure_recorded',
    id: circuitIdOf(target),
    target,
    task,
    at: now,
  };
  const late =
    (state?.failedTasks ?? []).filter(({ at, spent: old }) => old !== true && at > now - windowMs).length + 1;
  const tried = state?.state === 'half_open' && state.executor === taskName(task);
  if (late < failures && !tried) return decision({ events: [counted] });
  const reason = tried
    ? `trial task ${task} got stuck`
    : `${String(late)} tasks got stuck within ${String(Math.round(windowMs / 1_000))} s`;
  const made = opened({ target, reason }, RECOVERY, now + coolDownMs);
  return { ...made, events: [counted, ...made.events] };
};

/** Name of a trial task in `executor`. */
const taskName = (task: TaskId): string => `task:${task}`;

const sendState = (task: TaskId, answer: Omit<ReportCircuitState, 'id'>, now: number): Outgoing => ({
  subject: subjects.taskCommand('circuit_state'),
  id: `task.circuit_state.${task}.${answer.state}.${String(answer.until ?? '')}.${String(now)}`,
  type: eventType('task', 'circuit_state'),
  data: { id: task, ...answer },
});

/** A task acquires the circuit before it starts, and releases it when it ends. */
const acquire = (
  state: Circuit | undefined,
  {
    target: circuit,
    task,
    outcome: ended,
    abandoned: left = false,
    circuit: limits = RECOVERY_DEFAULTS.circuit,
  }: AcquireCircuit,
  now: number,
  { taskTrialMs = TASK_TRIAL_MS }: CircuitRules,
): CircuitDecision => {
  const isTrial = state?.state === 'half_open' && state.executor === taskName(task);
  if (left)
    return isTrial ? decision({ events: [halfOpened(state)], timers: [{ clear: TIMER }] }) : unchanged;
  if (ended !== undefined) {
    if (!isTrial) return unchanged;
    const about = { target: circuit, reason: `trial task ${task} has ended` };
    return ended === 'succeeded' ? closed(about, RECOVERY) : opened(about, RECOVERY, now + limits.coolDownMs);
  }
  if (state === undefined || state.state === 'closed')
    return decision({ send: [sendState(task, { circuit, state: 'closed' }, now)] });
  if (state.state === 'open') {
    const { until } = state;
    const answer = { circuit, state: 'open', ...(until !== undefined && { until }) } as const;
    return decision({ send: [sendState(task, answer, now)] });
  }
  if (isTrial) return decision({ send: [sendState(task, { circuit, state: 'half_open' }, now)] });
  if (state.executor !== undefined)
    return decision({
      send: [sendState(task, { circuit, state: 'open', until: now + TRIAL_RETRY_MS }, now)],
    });
  return decision({
    events: [halfOpened(state, taskName(task))],
    send: [sendState(task, { circuit, state: 'half_open' }, now)],
    timers: [{ set: TIMER, dueAt: now + taskTrialMs }],
  });
};

const timerFired = (state: Circuit | undefined, name: string): CircuitDecision => {
  if (name !== TIMER || state === undefined || state.held) return unchanged;
  const isDue = state.state === 'open' || (state.state === 'half_open' && state.executor !== undefined);
  return isDue ? decision({ events: [halfOpened(state)] }) : unchanged;
};

/** Long enough for a restart of the target, short enough to wait for. */
export const CIRCUIT_OPEN_MS = 30_000;

export const createCircuitDecider = (
  rules: CircuitRules,
): Decider<Circuit | undefined, CircuitMessage, CircuitEvent> => ({
  initial: undefined,
  evolve: evolveCircuit,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'circuit_report':
        return report(state, message.payload, now, rules);
      case 'circuit_record_failure':
        return recordFailure(state, message.payload, now);
      case 'circuit_acquire':
        return acquire(state, message.payload, now, rules);
      case 'set_circuit':
        return setCircuit(state, message.payload, message.by);
      case 'timer':
        return timerFired(state, message.name);
    }
  },
});

export const circuitDecider = createCircuitDecider({ openMs: CIRCUIT_OPEN_MS });
