import type { z } from 'zod';
import type { commands, facts } from './catalog.ts';

type Commands = typeof commands;
type Facts = typeof facts;

/** What each command asks for, in one line; a command without one does not compile. */
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
    admit: 'How the circuit stands that a task waits for.',
    watch: 'Tell the sender, another task, how a task or a node of it ends.',
    inform: 'What a task is told by the board of its repository, or by a task that it waits for.',
    board: 'What a task asks of the board of its repository: locks, and who makes which artifact.',
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
    record: 'Keep in mind an attempt that has succeeded, and the commit that a check has passed on.',
    settle: 'A job is stuck no more.',
    count: 'A job of a workflow was given up; enough of them open the circuit of the workflow.',
    enter: 'A task wants to start although the circuit of its workflow may be open, or has tried it.',
    circuit: 'What an executor has found of an outside target; it changes the circuit for all of them.',
  },
};

/** What each fact states, in one line; a fact without one does not compile. */
export const factDescriptions: {
  readonly [S in keyof Facts]: Readonly<Record<z.infer<Facts[S]>['type'], string>>;
} = {
  orchestrator: {
    submitted: 'A task was accepted, with the workflow as it will run.',
    readied: 'Nothing stands in the way of the first node.',
    approval_requested: 'A node waits at its gate for a decision on its effect.',
    approval_closed: 'The gate has its answer.',
    effect_ordered: 'The approved effect was ordered from the executor.',
    node_waiting: 'A node does not run yet, for another reason than before.',
    artifacts_known: 'The board said how the artifacts stand that a node needs.',
    node_inspected: 'An executor looked into the repository before a node starts.',
    node_previewed: 'What the effect of a node would do is known.',
    node_started: 'An attempt at a node begins.',
    locks_wanted: 'A node asks for its locks.',
    locks_held: 'A node has its locks.',
    step_ordered: 'A step of a node was ordered from an executor.',
    step_ended: 'A step of a node has its result; more follow.',
    node_succeeded: 'A node is done.',
    node_ended: 'A node ended without success; its routes follow, or what depends on it does not start.',
    rewound: 'A route or a person led back: these nodes start anew.',
    node_paused: 'A node does not start until it is resumed.',
    node_resumed: 'A node may start again.',
    watched: 'Another task waits for this one.',
    peer_ended: 'Another task, or a node of it, that this one waits for has ended.',
    board_queued: 'A job waits for locks of a repository.',
    board_locked: 'A job holds its locks.',
    board_unlocked: 'A job holds or wants its locks no more.',
    board_reported: 'A task said what it gives to others, as it stands.',
    board_watched: 'A job wants to hear how artifacts stand.',
    board_unwatched: 'A job need not hear of artifacts any more.',
    node_failed: 'An attempt at a node failed, or left an effect in doubt.',
    rollback_ordered:
      'Before the next attempt a worktree goes back to a commit: a task of its own does that.',
    rollback_ended: 'That task has ended.',
    continue_ordered: 'A job goes on in a new session; what it has is put by first.',
    stuck_asked: 'People are asked what is to become of a job that is stuck.',
    stuck_answered: 'A person has said what is to become of it.',
    node_held: 'An order of a node waits, because what it talks to fails.',
    node_released: 'It waits for that no more.',
    held: 'The task does not start: the circuit of its workflow is open.',
    released: 'The task may start.',
    budget_extended: 'The task may use as much again as it was given.',
    doubt_asked: 'People are asked what became of an effect.',
    doubt_answered: 'A person has said what became of an effect.',
    checkpoint: 'Something that whoever resumes the task may go by.',
    node_retrying: 'A node will be tried again.',
    node_skipped: 'A node was left out; the task goes on.',
    node_blocked: 'A node may not run.',
    node_escalated: 'A node needs a person.',
    paused: 'The task starts nothing new.',
    resumed: 'The task goes on.',
    completed: 'The task reached its goal. Terminal.',
    failed: 'The task cannot reach its goal. Terminal.',
    cancelled: 'The task was called off. Terminal.',
  },
  approvals: {
    requested: 'A decision is asked for; it has to come before `expiresAt`.',
    resolved:
      'The decision, whoever or whatever made it. Terminal; with `approved` it carries the grant, with `answered` the statement on the doubt.',
    voted: 'Somebody has decided, and others have to as well.',
    decision_refused: 'Somebody who may not decide has tried to.',
    reminded: 'Those who are asked were reminded.',
    handed_on: 'Others are asked as well.',
    delivered: 'A surface has shown it.',
    delivery_failed: 'A surface could not be told, and is not tried any more.',
    effect_noted: 'What became of the effect that was approved.',
    rule_added: 'Somebody has decided beforehand on whatever the rule fits.',
    rule_used: 'A standing rule decided on an approval.',
    rule_revoked: 'A standing rule decides no more.',
    token_created: 'An API token was made.',
    token_revoked: 'An API token is good for nothing any more.',
    audit_anchored: 'How far the audit log has come, signed.',
  },
  executor: {
    prepared: 'The order is in the ledger and waits for a free place.',
    held: 'The order waits until the circuit of its target lets it begin.',
    released: 'It waits for that no more, and begins.',
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
    recorded: 'An attempt that has succeeded is kept in mind.',
    settled: 'A job is stuck no more.',
    circuit_counted: 'A job of a workflow was given up.',
    circuit_opened: 'An outside target fails: orders for it wait.',
    circuit_half_opened:
      'One executor may send one order to a target that failed; none is named until one has asked.',
    circuit_closed: 'An outside target is there: orders for it begin.',
  },
};
