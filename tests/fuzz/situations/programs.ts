import { inputIdOf } from '@holdpoint/contracts/values/ids';
import {
  inputRequested,
  byHand,
  claim,
  completed,
  effect,
  end,
  failedWith,
  onError,
  programWith,
  record,
  resolved,
  submission,
  TASK,
  taskAfter,
} from '@holdpoint/programs/testing/fixture';
import type { ProgramMessage } from '@holdpoint/programs/messages';
import type { ProgramState } from '@holdpoint/programs/state';
import type { Loaded } from '@holdpoint/runtime/engine/batch';

const after = (...messages: readonly ProgramMessage[]): Loaded<ProgramState> => {
  const state = taskAfter(...messages);
  return { kind: 'program', version: state.version, state };
};

const started = [submission(programWith({ onError: onError('pause') })), claim(1)] as const;
const inReview = [...started, end(1, completed('review')), claim(2), end(2, inputRequested())] as const;

/** Tasks of programs in every state that accepts messages. */
export const programSituations: Readonly<Record<string, Loaded<ProgramState>>> = {
  programOrdered: after(submission()),
  programStarted: after(...started),
  programRecorded: after(
    ...started,
    record(1, { kind: 'step', key: 'a', output: 1 }),
    record(1, { kind: 'effect', effect: effect() }),
  ),
  programSuspended: after(
    ...started,
    record(1, { kind: 'effect', effect: effect() }),
    end(1, { kind: 'suspended', on: ['effect:publish'] }),
  ),
  programAsked: after(...inReview),
  programAnswered: after(...inReview, resolved(inputIdOf(TASK, 1), 'answered', true), claim(3)),
  programInDespair: after(...started, end(1, failedWith())),
  programPaused: after(...started, byHand('pause'), end(1, completed('review'))),
  programFailed: after(submission(), claim(1), end(1, failedWith())),
};

/** The lease of the worker in a situation. */
export const leaseIn = (situation: string): number => {
  const { state } = programSituations[situation] ?? {};
  return state !== undefined && 'lease' in state && typeof state.lease === 'number' ? state.lease : 1;
};
