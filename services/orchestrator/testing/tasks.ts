import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import {
  approvalIdOf,
  commandIdOf,
  doubtIdOf,
  effectIdOf,
  NodeId,
  TaskId,
} from '@holdpoint/contracts/values/ids';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { continued, historyOf } from '@holdpoint/runtime/testing/spec';
import { taskDecider } from '../src/task/decide.ts';
import type { Sender } from '../src/task/model/sender.ts';
import type { OperatorCommand, TaskMessage } from '../src/task/model/messages.ts';

export const TASK = TaskId.parse('t-1');
export const NODE = NodeId.parse('append');
export const EFFECT = effectIdOf(TASK, NODE, 'append:sample.txt');
export const approvalOf = (revision: number) => approvalIdOf(TASK, NODE, revision);
export const NOW = 1_000_000;
export const GRANT = { grant: 'granted', validUntil: NOW + 3_600_000 } as const;

export const submission: SubmitTask = { workflow: 'sample', goal: 'say hello', requestedBy: 'linus' };
export const submit = (payload: SubmitTask = submission): TaskMessage => ({
  kind: 'submit',
  payload,
  task: TASK,
});

/** A person in the audience of every node of these tests. */
export const OPERATOR: Sender = { kind: 'person', name: 'ada', groups: ['operators'] };

let given = 0;
/** Each call is a new command. Only the same value again is a redelivery. */
export const byHand = (
  kind: OperatorCommand['kind'],
  change: {
    by?: string;
    reason?: string;
    node?: NodeId;
    attempt?: number;
    rewind?: boolean;
    ifOpen?: boolean;
  } = {},
): OperatorCommand => {
  given += 1;
  const commandId = commandIdOf(kind, String(given));
  return {
    kind,
    payload: { id: TASK, by: 'ada', ...change },
    task: TASK,
    commandId,
    sender: OPERATOR,
  } as OperatorCommand;
};

/** A resolved request; an approval has its grant. */
export const resolved = (outcome: ApprovalOutcome, change: Partial<ApprovalResolved> = {}): TaskMessage => ({
  kind: 'approval',
  event: {
    type: 'resolved',
    id: approvalOf(1),
    task: TASK,
    node: NODE,
    revision: 1,
    outcome,
    by: 'grace',
    at: NOW,
    ...(outcome === 'approved' && GRANT),
    ...change,
  },
});

type EffectSays = EffectEvent extends infer E
  ? E extends EffectEvent
    ? Omit<E, 'id' | 'task' | 'node' | 'attempt' | 'order'>
    : never
  : never;

/** An executor event about the effect of these tests. */
export const reported = (says: EffectSays, change: Partial<EffectEvent> = {}): TaskMessage => ({
  kind: 'effect',
  event: { ...says, id: EFFECT, task: TASK, node: NODE, attempt: 1, ...change } as EffectEvent,
});
export const applied = (change: Partial<EffectEvent> = {}): TaskMessage =>
  reported({ type: 'applied', epoch: 1, outputs: { line: 1 } }, change);
export const failedClean = (change: Partial<EffectEvent> = {}): TaskMessage =>
  reported(
    { type: 'failed_clean', epoch: 1, error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' } },
    change,
  );
/** About the order under this grant. */
export const refused = (
  code: string,
  change: Partial<EffectEvent> = {},
  grant: string = GRANT.grant,
): TaskMessage => {
  const effect = {
    task: TASK,
    node: NODE,
    uses: 'cap.file.append',
    args: { file: 'sample.txt', line: submission.goal },
    kind: 'write_external',
    effectClass: 'keyed',
    target: 'file:sample.txt',
    idempotencyKey: 'append:sample.txt',
  } as const;
  const order = { id: EFFECT, attempt: 1, effect, digest: effectDigest(effect), grant };
  return reported({ type: 'refused', error: { code, message: 'no' } }, { order, ...change });
};

export const verdictOf = (kind: VerdictKind, delayMs = 0): Verdict => ({
  kind,
  delayMs,
  class: 'UNKNOWN',
  rule: 'verdicts@1/x',
  reason: 'because',
});
export const recover = (
  kind: VerdictKind,
  change: { attempt?: number; node?: NodeId; delayMs?: number; reason?: string } = {},
): TaskMessage => ({
  kind: 'recover',
  payload: {
    task: TASK,
    node: change.node ?? NODE,
    attempt: change.attempt ?? 1,
    verdict: {
      ...verdictOf(kind, change.delayMs),
      ...(change.reason !== undefined && { reason: change.reason }),
    },
  },
  task: TASK,
});
export const timer = (name: string, data: null | { attempt: number } = null): TaskMessage => ({
  kind: 'timer',
  name,
  data,
});

const acted = (...messages: readonly TaskMessage[]): readonly TaskEvent[] =>
  historyOf(taskDecider, ...messages.map((message) => [message, NOW] as const));
const then = (history: readonly TaskEvent[], ...messages: readonly TaskMessage[]): readonly TaskEvent[] =>
  continued(taskDecider, history, ...messages.map((message) => [message, NOW] as const));

const awaiting = acted(submit());
const running = then(awaiting, resolved('approved'));
const recovering = then(running, failedClean());
const inDoubt = reported({
  type: 'in_doubt',
  epoch: 2,
  reason: 'lost',
  next: 'person',
  cause: 'worker_lost',
});
const doubtful = then(running, inDoubt);
const escalatedDoubt = then(doubtful, recover('escalate'));
const saidOf = (answer: InDoubtAnswer): TaskMessage =>
  resolved('answered', { id: doubtIdOf(EFFECT, 2), answer, statement: 'stated' });
const pausedAwaiting = then(awaiting, byHand('pause'));

/** A task of the sample workflow in every state. */
export const histories = {
  awaiting,
  running,
  recovering,
  retrying: then(recovering, recover('retry', { delayMs: 1_000 })),
  escalated: then(recovering, recover('escalate')),
  retriedEscalated: then(
    recovering,
    recover('escalate'),
    byHand('retry'),
    failedClean({ attempt: 2 }),
    recover('escalate', { attempt: 2 }),
  ),
  changesRequested: then(
    awaiting,
    resolved('changes_requested'),
    recover('escalate', { reason: 'changes requested by grace: no comment' }),
  ),
  pausedAwaiting,
  pausedApproved: then(pausedAwaiting, resolved('approved')),
  pausedRejected: then(pausedAwaiting, resolved('rejected')),
  pausedRunning: then(running, byHand('pause')),
  pausedRecovering: then(recovering, byHand('pause')),
  pausedRetrying: then(recovering, recover('retry', { delayMs: 1_000 }), byHand('pause')),
  pausedEscalated: then(recovering, recover('escalate'), byHand('pause')),
  pausedDone: then(running, byHand('pause'), applied()),
  /** The grant expired before the executor used it. */
  awaitingAnew: then(running, refused('EXECUTOR_GRANT_EXPIRED')),
  completed: then(running, applied()),
  failed: then(awaiting, resolved('rejected')),
  cancelled: then(awaiting, byHand('cancel')),
  cancelledRunning: then(running, byHand('cancel')),
  cancelledPaused: then(pausedAwaiting, byHand('cancel')),
  cancelledEscalated: then(recovering, recover('escalate'), byHand('cancel')),
} as const;
/** The same task with its effect in doubt: people are asked, and have answered. */
export const doubtHistories = {
  doubtful,
  asked: escalatedDoubt,
  saidApplied: then(escalatedDoubt, saidOf('applied')),
  saidRetry: then(escalatedDoubt, saidOf('retry')),
} as const;
export type Situation = keyof typeof histories;
export const TERMINAL = [
  'completed',
  'failed',
  'cancelled',
  'cancelledRunning',
  'cancelledPaused',
  'cancelledEscalated',
] as const satisfies readonly Situation[];
export const OPEN = (Object.keys(histories) as readonly Situation[]).filter(
  (situation) => !(TERMINAL as readonly Situation[]).includes(situation),
);
