import type { z } from 'zod';
import type { ServiceName } from '../bus/subjects.ts';
import type { events } from './events.ts';

type Events = typeof events;

export type ListedEvent = {
  /** Whether the event is on the bus. An internal one is in the store and in the history of its aggregate. */
  readonly isPublished: boolean;
  readonly description: string;
};

const published = (description: string): ListedEvent => ({ isPublished: true, description });
const internal = (description: string): ListedEvent => ({ isPublished: false, description });

/**
 * Every event with one line, and whether it is published; the compiler requires both. Published is an event that another
 * component decides on, that opens or ends a task or a request, or that an outside observer has to keep.
 */
export const eventList: {
  readonly [S in keyof Events]: Readonly<Record<z.infer<Events[S]>['type'], ListedEvent>>;
} = {
  orchestrator: {
    submitted: published('A task was accepted with its resolved workflow.'),
    ready: internal('The first node may start.'),
    approval_requested: internal('A node waits for the approval of its effect.'),
    approval_closed: internal('The approval request of a node was decided.'),
    effect_ordered: internal('The approved effect was ordered from the executor.'),
    node_waiting: internal('A node waits for a new reason.'),
    artifacts_updated: internal('The registry reported the state of needed artifacts.'),
    node_inspected: internal('An executor inspected the repository before a node starts.'),
    node_previewed: internal('The effect of a node was previewed.'),
    node_started: internal('An attempt at a node began.'),
    locks_requested: internal('A node requested its locks.'),
    locks_acquired: internal('A node has its locks.'),
    step_ordered: internal('A step of a node was ordered from an executor.'),
    step_ended: internal('A step of a node ended; further steps follow.'),
    node_succeeded: internal('A node succeeded.'),
    node_ended: internal('A node ended without success; its routes follow, or its dependents do not start.'),
    restarted: internal('A route or an operator restarted these nodes.'),
    node_paused: internal('A node does not start until it is resumed.'),
    node_resumed: internal('A paused node may start again.'),
    watcher_added: internal('Another task waits for this one.'),
    peer_ended: internal('A task or node that this task waits for ended.'),
    lock_queued: internal('A job waits for locks of a repository.'),
    lock_acquired: internal('A job acquired its locks.'),
    lock_released: internal('A job released its locks, or left the queue.'),
    artifacts_reported: internal('A task reported the state of its artifacts.'),
    artifact_watch_added: internal('A job subscribed to the state of artifacts.'),
    artifact_watch_removed: internal('A job no longer needs the state of artifacts.'),
    node_failed: internal('An attempt at a node failed, or left an effect in doubt.'),
    rollback_ordered: internal('A separate task rolls back a worktree before the next attempt.'),
    rollback_ended: internal('The rollback task ended.'),
    handoff_ordered: internal('A job continues in a new session, after its state is saved.'),
    stuck_asked: internal('Asks operators how to continue a stuck job.'),
    stuck_answered: internal('An operator decided how to continue a stuck job.'),
    node_deferred: internal('An order of a node is deferred because its target fails.'),
    node_undeferred: internal('The deferral of the order ended.'),
    deferred: internal('The task is deferred: the circuit of its workflow is open.'),
    undeferred: internal('The task may start.'),
    budget_extended: internal('The budget of the task was extended by the same amount.'),
    in_doubt_asked: internal('Asks approvers whether an in-doubt effect happened.'),
    in_doubt_answered: internal('An approver answered whether an in-doubt effect happened.'),
    checkpoint: internal('A record for later sessions of the task.'),
    review_recorded: internal('A review of the work of a task was recorded.'),
    node_retrying: internal('A node will be tried again.'),
    node_skipped: internal('A node was skipped; the task continues.'),
    node_blocked: internal('A node may not run.'),
    node_escalated: internal('A node needs an operator.'),
    program_submitted: published('A task with a TypeScript workflow was accepted.'),
    phase_ordered: internal('A phase was offered to the workers.'),
    phase_started: internal('A worker claimed a phase and holds its lease.'),
    phase_waiting: internal('No worker has claimed the phase yet.'),
    phase_recorded: internal('A phase recorded a step, a sleep, an artifact or an effect.'),
    phase_entry_completed: published('A recorded effect or sleep of a phase ended.'),
    phase_suspended: internal('A phase waits without a worker.'),
    phase_returned: internal('A worker returned a phase, or its lease expired.'),
    phase_retry_prepared: internal('The state for another attempt at a phase was recorded.'),
    phase_completed: internal('A phase completed and named the next one.'),
    phase_skipped: internal('The guard of a phase was false.'),
    phase_failed: internal('An attempt at a phase failed.'),
    phase_retrying: internal('A phase will be tried again.'),
    input_requested: internal('A TypeScript workflow requested input from people.'),
    input_received: internal('The requested input arrived or expired.'),
    state_checkpoint: internal('A version of the task that forks can start from.'),
    paused: internal('The task starts nothing new.'),
    resumed: internal('The task continues.'),
    completed: published('The task reached its goal. Terminal.'),
    failed: published('The task failed. Terminal.'),
    cancelled: published('The task was cancelled. Terminal.'),
    cancelled_before_submission: published('The task was cancelled before its submission arrived. Terminal.'),
  },
  approvals: {
    requested: published('A decision is needed before `expiresAt`.'),
    resolved: published(
      'The decision. Terminal; `approved` carries the grant, `answered` the answer about an in-doubt effect.',
    ),
    voted: published('One of several required votes.'),
    decision_refused: internal('A person without permission tried to decide.'),
    reminded: published('The approvers were reminded.'),
    escalated: published('Further approvers were added.'),
    delivered: internal('A surface showed the notice.'),
    delivery_failed: internal('The delivery to a surface failed and is not retried.'),
    effect_outcome_recorded: internal('Outcome of the approved effect.'),
    rule_added: published('A standing rule was added.'),
    rule_used: internal('A standing rule decided on an approval.'),
    rule_revoked: published('A standing rule was revoked.'),
    token_created: internal('An API token was created.'),
    token_redeemed: internal('The code of a sign-in link opened a session of the console.'),
    token_revoked: internal('An API token was revoked.'),
    person_added: internal('A person was added.'),
    person_changed: internal('The groups or the display name of a person changed.'),
    person_removed: internal('A person was removed.'),
    executor_enrolled: internal('The key of an executor was enrolled.'),
    executor_revoked: internal('The key of an executor was revoked.'),
    executor_forgotten: internal('The journal of an executor was declared lost.'),
    capability_registered: internal('A remote capability was registered, or its definition changed.'),
    capability_withdrawn: internal('A remote capability was withdrawn.'),
    callback_ordered: internal('A held effect ended or is in doubt, and its callback is due.'),
    callback_missed: internal('An attempt of the callback failed, and a further one follows.'),
    callback_delivered: internal('The receiver has the callback.'),
    callback_failed: internal('The callback could not be delivered and is not retried.'),
    audit_anchored: published('Signed position of the audit log.'),
  },
  executor: {
    prepared: internal('The order is in the ledger and waits for a slot.'),
    deferred: published('The order waits until the circuit of its target permits the start.'),
    undeferred: published('The deferral ended and the effect starts.'),
    started: published('An executor starts the effect. Recorded before anything happens.'),
    claimed: internal('A claimant has the order again, or probes its target.'),
    applied: published('The effect happened, once. Terminal.'),
    failed_clean: published('The effect failed and certainly did not happen.'),
    in_doubt: published('It is unknown whether the effect happened.'),
    probed: internal('The target was probed for the effect.'),
    answered: internal('A person answered the question about an in-doubt effect.'),
    not_applied: published('The in-doubt effect turned out not to have happened.'),
    duplicate_prevented: published('The effect was ordered again and not repeated.'),
    refused: published('The order was invalid; nothing was started.'),
    cancelled: published('The effect was cancelled before its start.'),
    cancel_requested: internal(
      'A running effect should end; it may still be applied, but is not started again.',
    ),
    superseded: internal(
      'A worker with an expired epoch reported an outcome: evidence without consequences.',
    ),
  },
  recovery: {
    assessed: internal('A failed attempt received its verdict.'),
    attempt_recorded: internal('A successful attempt was recorded.'),
    job_unstuck: internal('A job is no longer stuck.'),
    circuit_failure_recorded: internal('Recovery gave up a job of the workflow.'),
    circuit_opened: published('A target fails: its orders wait.'),
    circuit_half_opened: published('One executor may send one trial order; none is named until one asks.'),
    circuit_closed: published('A target works again: its orders start.'),
  },
};

/** Whether an event stays in the store of its service. A type that is not listed does not. */
export const isInternal = (service: ServiceName, type: string): boolean => {
  const listed: Readonly<Record<string, ListedEvent>> = eventList[service];
  return Object.hasOwn(listed, type) && listed[type]?.isPublished === false;
};
