import type { z } from 'zod';
import type { commands } from '../catalog/commands.ts';
import type { events } from '../catalog/events.ts';

type Commands = typeof commands;
type Facts = typeof events;

/** One line per command; the compiler requires it. */
export const commandDescriptions: {
  readonly [S in keyof Commands]: Readonly<Record<keyof Commands[S], string>>;
} = {
  orchestrator: {
    submit: 'Run a workflow on a goal. Sent again with the same id and content, it finds the same task.',
    cancel: 'End a task; an effect that has started is not taken back.',
    pause: 'Start nothing new in a task until it is resumed.',
    resume: 'Go on with a paused task.',
    retry: 'Give failed or escalated nodes another attempt.',
    skip: 'Leave a node out that has not started, or that failed.',
    done: 'Take a node as done that has not succeeded; what follows it goes on.',
    checkpoint: 'Record a note that whoever goes on with a task finds among its checkpoints.',
    circuit_state: 'How the circuit stands that a task waits for.',
    watch: 'Tell the sender, another task, how a task or a node of it ends.',
    notify: 'What a task is told by the board of its repository, or by a task that it waits for.',
    registry: 'What a task asks of the board of its repository: locks, and who makes which artifact.',
    recover:
      'A verdict on a failed attempt. It is a suggestion: the orchestrator carries it out or refuses it.',
  },
  approvals: {
    request: 'Ask for a decision on one exact effect.',
    cancel: 'The effect is not wanted any more: close its request, or refuse it when it comes.',
  },
  executor: {
    run: 'Carry out one effect, once. Nothing in the order is believed: digest and grant are checked.',
    cancel: 'Do not start an effect that has not started.',
    resolve: 'A person has said what became of an effect in doubt. Only the signed statement is believed.',
  },
  recovery: {
    assess: 'Say what to do about one failed attempt.',
    record_attempt: 'Keep in mind an attempt that has succeeded, and the commit that a check has passed on.',
    job_unstuck: 'A job is stuck no more.',
    circuit_record_failure:
      'A job of a workflow was given up; enough of them open the circuit of the workflow.',
    circuit_acquire:
      'A task wants to start although the circuit of its workflow may be open, or has tried it.',
    circuit_report:
      'What an executor has found of an outside target; it changes the circuit for all of them.',
  },
};

/** One line per event; the compiler requires it. */
export const eventDescriptions: {
  readonly [S in keyof Facts]: Readonly<Record<z.infer<Facts[S]>['type'], string>>;
} = {
  orchestrator: {
    submitted: 'A task was accepted, with the workflow as it will run.',
    ready: 'Nothing stands in the way of the first node.',
    approval_requested: 'A node waits at its gate for a decision on its effect.',
    approval_closed: 'The gate has its answer.',
    effect_ordered: 'The approved effect was ordered from the executor.',
    node_waiting: 'A node does not run yet, for another reason than before.',
    artifacts_updated: 'The board said how the artifacts stand that a node needs.',
    node_inspected: 'An executor looked into the repository before a node starts.',
    node_previewed: 'What the effect of a node would do is known.',
    node_started: 'An attempt at a node begins.',
    locks_requested: 'A node asks for its locks.',
    locks_acquired: 'A node has its locks.',
    step_ordered: 'A step of a node was ordered from an executor.',
    step_ended: 'A step of a node has its result; more follow.',
    node_succeeded: 'A node is done.',
    node_ended: 'A node ended without success; its routes follow, or what depends on it does not start.',
    restarted: 'A route or a person led back: these nodes start anew.',
    node_paused: 'A node does not start until it is resumed.',
    node_resumed: 'A node may start again.',
    watcher_added: 'Another task waits for this one.',
    peer_ended: 'Another task, or a node of it, that this one waits for has ended.',
    lock_queued: 'A job waits for locks of a repository.',
    lock_acquired: 'A job holds its locks.',
    lock_released: 'A job holds or wants its locks no more.',
    artifacts_reported: 'A task said what it gives to others, as it stands.',
    artifact_watch_added: 'A job wants to hear how artifacts stand.',
    artifact_watch_removed: 'A job need not hear of artifacts any more.',
    node_failed: 'An attempt at a node failed, or left an effect in doubt.',
    rollback_ordered:
      'Before the next attempt a worktree goes back to a commit: a task of its own does that.',
    rollback_ended: 'That task has ended.',
    handoff_ordered: 'A job goes on in a new session; what it has is put by first.',
    stuck_asked: 'People are asked what is to become of a job that is stuck.',
    stuck_answered: 'A person has said what is to become of it.',
    node_deferred: 'An order of a node waits, because what it talks to fails.',
    node_undeferred: 'It waits for that no more.',
    deferred: 'The task does not start: the circuit of its workflow is open.',
    undeferred: 'The task may start.',
    budget_extended: 'The task may use as much again as it was given.',
    in_doubt_asked: 'People are asked what became of an effect.',
    in_doubt_answered: 'A person has said what became of an effect.',
    checkpoint: 'Something that whoever resumes the task may go by.',
    node_retrying: 'A node will be tried again.',
    node_skipped: 'A node was left out; the task goes on.',
    node_blocked: 'A node may not run.',
    node_escalated: 'A node needs a person.',
    program_submitted: 'A task was accepted whose workflow is a program.',
    phase_ordered: 'A worker is wanted for a phase.',
    phase_started: 'A worker has taken a phase, and holds its lease.',
    phase_waiting: 'Nobody has taken a phase so far.',
    phase_recorded:
      'A phase has recorded what is not to happen twice: a step, a sleep, an artifact, an effect.',
    phase_entry_completed: 'An effect that a phase asked for has ended, or a sleep is over.',
    phase_suspended: 'A phase waits, and nobody holds it meanwhile.',
    phase_returned: 'A worker gave a phase back, or was not heard of any more.',
    phase_retry_prepared: 'What the state is that a phase is tried again with.',
    phase_completed: 'A phase is done, and has named the next.',
    phase_skipped: 'The guard of a phase did not hold.',
    phase_failed: 'An attempt at a phase failed.',
    phase_retrying: 'A phase will be tried again.',
    input_requested: 'A program asks people for something.',
    input_received: 'People have said it, or the time was over.',
    state_checkpoint: 'A version of a task that a fork may begin from.',
    paused: 'The task starts nothing new.',
    resumed: 'The task goes on.',
    completed: 'The task reached its goal. Terminal.',
    failed: 'The task cannot reach its goal. Terminal.',
    cancelled: 'The task was called off. Terminal.',
    cancelled_before_submission: 'The task was cancelled before its submission arrived. Terminal.',
  },
  approvals: {
    requested: 'A decision is asked for; it has to come before `expiresAt`.',
    resolved:
      'The decision, whoever or whatever made it. Terminal; with `approved` it carries the grant, with `answered` the statement on the doubt.',
    voted: 'Somebody has decided, and others have to as well.',
    decision_refused: 'Somebody who may not decide has tried to.',
    reminded: 'Those who are asked were reminded.',
    escalated: 'Others are asked as well.',
    delivered: 'A surface has shown it.',
    delivery_failed: 'A surface could not be told, and is not tried any more.',
    effect_outcome_recorded: 'What became of the effect that was approved.',
    rule_added: 'Somebody has decided beforehand on whatever the rule fits.',
    rule_used: 'A standing rule decided on an approval.',
    rule_revoked: 'A standing rule decides no more.',
    token_created: 'An API token was made.',
    token_revoked: 'An API token is good for nothing any more.',
    audit_anchored: 'How far the audit log has come, signed.',
  },
  executor: {
    prepared: 'The order is in the ledger and waits for a free place.',
    deferred: 'The order waits until the circuit of its target lets it begin.',
    undeferred: 'It waits for that no more, and begins.',
    started: 'An executor is carrying the effect out. Recorded before anything happens.',
    applied: 'The effect happened, once. Terminal.',
    failed_clean: 'The effect failed, and it is certain that nothing happened.',
    in_doubt: 'Nobody can know whether the effect happened.',
    probed: 'The target was asked whether the effect happened.',
    answered: 'A person has said what became of an effect in doubt.',
    not_applied: 'The effect was in doubt, and it is known by now that it did not happen.',
    duplicate_prevented: 'The effect was ordered once more, and not carried out again.',
    refused: 'The order was not acceptable; nothing was started.',
    cancelled: 'The effect was called off before it started.',
    cancel_requested: 'A running effect is to end; it may still be applied, but it is not started again.',
    superseded: 'A worker whose epoch is over reported an outcome: kept as evidence, it changes nothing.',
  },
  recovery: {
    assessed: 'A failed attempt has its verdict.',
    attempt_recorded: 'An attempt that has succeeded is kept in mind.',
    job_unstuck: 'A job is stuck no more.',
    circuit_failure_recorded: 'A job of a workflow was given up.',
    circuit_opened: 'An outside target fails: orders for it wait.',
    circuit_half_opened:
      'One executor may send one order to a target that failed; none is named until one has asked.',
    circuit_closed: 'An outside target is there: orders for it begin.',
  },
};
