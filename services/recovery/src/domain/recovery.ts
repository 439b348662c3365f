import { eventType } from '@holdpoint/contracts/cloudevents';
import type { AssessFailure, FailureAssessed, RecoveryEvent, Verdict } from '@holdpoint/contracts/recovery';
import { subjects } from '@holdpoint/contracts/subjects';
import { type Decider, type Decision, decision, type Outgoing } from '@holdpoint/runtime/decider';
import {
  type Circuit,
  type CircuitMessage,
  type CircuitRules,
  decideCircuit,
  evolveCircuit,
} from './circuit.ts';
import { classify, delayMsOf, rowFor, TABLE_VERSION } from './verdict-table.ts';

/** Every failed attempt of one task, oldest first. */
export type Failures = { readonly attempts: readonly FailureAssessed[] };

/** What recovery keeps: the failures of tasks, and the circuits of outside targets. Their ids never coincide. */
export type RecoveryState = Failures | Circuit;

export type RecoveryMessage = { readonly kind: 'assess'; readonly payload: AssessFailure } | CircuitMessage;

export const isCircuit = (state: RecoveryState): state is Circuit => !('attempts' in state);
/** Nothing has failed, and no circuit was ever open: both are kept under ids of which nothing is known at first. */
const isNew = (state: Failures): boolean => state.attempts.length === 0;

const verdictOn = (failure: AssessFailure, earlier: number): Verdict => {
  const failureClass = classify(failure);
  const row = rowFor(failureClass, earlier + 1);
  return {
    kind: row.verdict,
    delayMs: delayMsOf(row, earlier + 1),
    class: failureClass,
    rule: `verdicts@${String(TABLE_VERSION)}/${row.name}`,
    reason: row.reason,
  };
};

/** The same verdict may have to be sent again, so its id changes with the time; the orchestrator takes it once. */
const suggest = ({ task, node, attempt, verdict }: FailureAssessed, now: number): Outgoing => ({
  subject: subjects.taskCommand('recover'),
  id: `task.recover.${task}.${node}.${String(attempt)}.${String(now)}`,
  type: eventType('task', 'recover'),
  data: { task, node, attempt, verdict },
});

const assess = (state: Failures, failure: AssessFailure, now: number): Decision<RecoveryEvent> => {
  const { task, node, attempt, error } = failure;
  const ofNode = state.attempts.filter((past) => past.node === node);
  const known = ofNode.find((past) => past.attempt === attempt);
  if (known !== undefined) return decision({ send: [suggest(known, now)] });
  const verdict = verdictOn(failure, ofNode.length);
  const assessed: FailureAssessed = { type: 'assessed', task, node, attempt, error, verdict };
  return decision({ events: [assessed], send: [suggest(assessed, now)] });
};

/** Half a minute: long enough for a restart, short enough to wait for. */
export const CIRCUIT_OPEN_MS = 30_000;

/** The failures of one task, each with the verdict that history gave it; and the circuit of one target. */
export const createRecoveryDecider = (
  rules: CircuitRules,
): Decider<RecoveryState, RecoveryMessage, RecoveryEvent> => ({
  initial: { attempts: [] },
  evolve: (state, event) => {
    if (event.type !== 'assessed') {
      if (!isCircuit(state) && !isNew(state)) throw new Error('the failures of a task are no circuit');
      return evolveCircuit(isCircuit(state) ? state : undefined, event);
    }
    if (isCircuit(state)) throw new Error('a circuit has no attempts');
    return { attempts: [...state.attempts, event] };
  },
  decide: (state, message, { now }) => {
    if (message.kind === 'assess') {
      if (isCircuit(state)) throw new Error('a circuit has no attempts');
      return assess(state, message.payload, now);
    }
    if (isCircuit(state)) return decideCircuit(state, message, now, rules);
    if (isNew(state)) return decideCircuit(undefined, message, now, rules);
    // Failures have no timers.
    if (message.kind === 'timer') return decision({});
    throw new Error('the failures of a task are no circuit');
  },
});

export const recoveryDecider = createRecoveryDecider({ openMs: CIRCUIT_OPEN_MS });
