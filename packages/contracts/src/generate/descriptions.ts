import type { commands } from '../catalog/commands.ts';

type Commands = typeof commands;

/** One line per command; the compiler requires it. */
export const commandDescriptions: {
  readonly [S in keyof Commands]: Readonly<Record<keyof Commands[S], string>>;
} = {
  orchestrator: {
    submit: 'Run a workflow on a goal. Repeating it with the same id and content returns the same task.',
    cancel: 'Cancel a task; started effects are not undone.',
    pause: 'Start nothing new in a task until it is resumed.',
    resume: 'Resume a paused task.',
    retry: 'Give failed or escalated nodes another attempt.',
    skip: 'Skip a node that has not started or has failed.',
    done: 'Mark a node as done; its successors continue.',
    checkpoint: 'Record a note among the checkpoints of a task.',
    record_review: 'Record a review of the work of a task, for its approvers.',
    circuit_state: 'State of the circuit that a task waits for.',
    watch: 'Ask a task to notify another task when it, or one of its nodes, ends.',
    notify: 'Notify a task about its locks, about artifacts, or about the end of another task.',
    registry: 'Request to the registry of a repository: locks, and reports about artifacts.',
    callback_taken: 'Approvals has stored the callback of a held effect.',
    recover: 'A verdict on a failed attempt. The orchestrator executes or refuses it.',
  },
  approvals: {
    request: 'Request a decision on one exact effect.',
    cancel: 'Withdraw a request, also before it arrives.',
    call_back: 'Deliver the callback of a held effect that ended or is in doubt.',
  },
  executor: {
    run: 'Execute one effect, once. The executor trusts nothing in the order and checks digest and grant.',
    cancel: 'Cancel an effect that has not started.',
    resolve: 'Deliver the signed answer about an in-doubt effect.',
  },
  recovery: {
    assess: 'Request a verdict on a failed attempt.',
    record_attempt: 'Record a successful attempt, and the commit that a check passed on.',
    job_unstuck: 'A job is no longer stuck.',
    circuit_record_failure: 'Record a given-up job for the circuit of its workflow.',
    circuit_acquire:
      'Request the start of a task under the circuit of its workflow, or report the end of its trial.',
    circuit_report: "An executor's finding about an external target; it sets the circuit for all executors.",
  },
};
