import { eventType } from '@holdpoint/contracts/cloudevents';
import type { AssessFailure, FailureAssessed, RecoveryEvent, Verdict } from '@holdpoint/contracts/recovery';
import { subjects } from '@holdpoint/contracts/subjects';
import { type Decider, decision, type Outgoing } from '@holdpoint/runtime/decider';
import { classify, delayMsOf, rowFor, TABLE_VERSION } from './verdict-table.ts';

/** Every failed attempt of one task, oldest first. */
export type RecoveryState = { readonly attempts: readonly FailureAssessed[] };

export type RecoveryMessage =
  | { readonly kind: 'assess'; readonly payload: AssessFailure }
  | { readonly kind: 'timer'; readonly name: string };

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

/** The failures of one task, each with the verdict that history gave it. */
export const recoveryDecider: Decider<RecoveryState, RecoveryMessage, RecoveryEvent> = {
  initial: { attempts: [] },
  evolve: (state, event) => ({ attempts: [...state.attempts, event] }),
  decide: (state, message, { now }) => {
    if (message.kind === 'timer') return decision({});
    const { task, node, attempt, error } = message.payload;
    const ofNode = state.attempts.filter((past) => past.node === node);
    const known = ofNode.find((past) => past.attempt === attempt);
    if (known !== undefined) return decision({ send: [suggest(known, now)] });
    const verdict = verdictOn(message.payload, ofNode.length);
    const assessed: FailureAssessed = { type: 'assessed', task, node, attempt, error, verdict };
    return decision({ events: [assessed], send: [suggest(assessed, now)] });
  },
};
