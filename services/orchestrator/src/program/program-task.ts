import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { WorkRequest } from '@holdpoint/contracts/program/work';
import type { ForkProgram, ProgramMessage } from '@holdpoint/programs/messages';
import type { ProgramState, ProgramTaskEvent } from '@holdpoint/programs/state';
import { type Decider, decision, refused } from '@holdpoint/runtime/decider';
import type { TaskMessage } from '../task/model/messages.ts';
import { reviewNeedsIdentity } from '../task/operator/may-command.ts';

/** A request of a worker. */
export type WorkMessage = { readonly kind: 'work'; readonly payload: WorkRequest };
/** A message to a task, whether a graph or a program runs it. */
export type TaskRunMessage = TaskMessage | WorkMessage | ForkProgram;

const refusal = (message: string): { readonly error: ErrorBody } => ({
  error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message),
});

const WHOLE = 'a program orders its phases itself: only the whole task can be';

/** The message for the decider of programs, a refusal, or `ignored`. */
const asProgramMessage = (
  message: TaskRunMessage,
): ProgramMessage | 'ignored' | { readonly error: ErrorBody } => {
  switch (message.kind) {
    case 'submit':
      // The task exists and runs a program: a graph under the same id is another submission.
      return message.payload.program === undefined
        ? {
            error: errorBody(
              'ORCHESTRATOR_TASK_CONFLICT',
              `task ${message.task} exists with other content: use another id`,
            ),
          }
        : { kind: 'submit', task: message.task, payload: message.payload };
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry': {
      const { node } = message.payload;
      if (node !== undefined && message.kind !== 'retry') return refusal(`${WHOLE} ${message.kind}d`);
      return { kind: message.kind, payload: message.payload, commandId: message.commandId };
    }
    case 'record_review':
      if (message.sender === undefined || message.sender.kind === 'unverified')
        return { error: reviewNeedsIdentity() };
      return { kind: message.kind, payload: message.payload, commandId: message.commandId };
    case 'skip':
      return refusal(`${WHOLE} ended: a phase cannot be skipped by hand`);
    case 'checkpoint':
      return refusal('checkpoints are not supported for programs: a program keeps its own state');
    case 'done':
      return refusal(`${WHOLE} ended: a phase cannot be marked done`);
    case 'watch':
      return {
        kind: 'watch',
        watcher: message.payload.watcher,
        ...(message.payload.node !== undefined && { node: message.payload.node }),
      };
    case 'callback_taken':
      return 'ignored';
    case 'notify':
      return { kind: 'notify', notification: message.payload.notification };
    case 'approval':
    case 'timer':
    case 'work':
    case 'fork_program':
      return message;
    case 'fork':
    case 'recover':
    case 'circuit_state':
    case 'effect':
      return 'ignored';
  }
};

/** The decider of programs for the messages that every task gets. */
export const createProgramTaskDecider = (
  programs: Decider<ProgramState, ProgramMessage, ProgramTaskEvent>,
): Decider<ProgramState, TaskRunMessage, ProgramTaskEvent> => ({
  ...programs,
  decide: (state, message, at) => {
    const translated = asProgramMessage(message);
    if (translated === 'ignored') return decision({});
    return 'error' in translated ? refused(translated.error) : programs.decide(state, translated, at);
  },
});
