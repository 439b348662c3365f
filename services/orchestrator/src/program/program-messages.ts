import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { ProgramMessage } from '@holdpoint/programs/messages';
import type { RegistryMessage } from '../registry/decide.ts';
import type { TaskMessage } from '../task/model/messages.ts';

type Told = TaskMessage | Extract<ProgramMessage, { readonly kind: 'work' | 'fork_program' }> | RegistryMessage;

const refusal = (message: string): { readonly error: ErrorBody } => ({
  error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message),
});

const WHOLE = 'the phases of a program follow one another as it says: only the whole task can be';

/** What a task is told, in the words of a program; `nothing` when it is of no concern to one. */
export const asProgramMessage = (
  message: Told,
): ProgramMessage | 'nothing' | { readonly error: ErrorBody } => {
  switch (message.kind) {
    case 'submit':
      // A program would be there: the same id stands for something else.
      return message.payload.program === undefined
        ? {
            error: errorBody(
              'ORCHESTRATOR_TASK_CONFLICT',
              `task ${message.task} was submitted before with other content`,
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
    case 'skip':
      return refusal(`${WHOLE} ended: a phase cannot be skipped by hand`);
    case 'checkpoint':
      return refusal('a program says itself where it can be gone on from: nothing is noted beside it');
    case 'done':
      return refusal(`${WHOLE} ended: a phase cannot be taken as done`);
    case 'watch':
      return {
        kind: 'watch',
        watcher: message.payload.watcher,
        ...(message.payload.node !== undefined && { node: message.payload.node }),
      };
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
    case 'registry':
      return 'nothing';
  }
};
