import { errorBody } from '@holdpoint/contracts/values/errors';
import { type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';
import { byHand } from './commands.ts';
import { createDraft } from './decision-builder.ts';
import { evolve } from './evolve.ts';
import { informed, questionClosed, watched } from './on-effect-ended.ts';
import type { ProgramMessage } from './messages.ts';
import { answered } from './question.ts';
import { absent, isOver, type Program, type ProgramFact, type ProgramState } from './state.ts';
import { fork, submit } from './submit.ts';
import { timerFired } from './on-timer.ts';
import { working } from './on-work-message.ts';

const unknown = (id: string): Decision<never> =>
  refused(errorBody('ORCHESTRATOR_UNKNOWN_TASK', `no task is called ${id}`));

/** Answers and timers have nobody to be answered. */
const reply = (
  task: Program,
  message: Extract<ProgramMessage, { readonly kind: 'approval' | 'notify' | 'watch' | 'timer' }>,
  now: number,
): Decision<ProgramFact> => {
  const draft = createDraft(task, task.id, now);
  switch (message.kind) {
    case 'approval':
      questionClosed(draft, message.fact);
      if (!isOver(task)) answered(draft, message.fact);
      break;
    case 'notify':
      informed(draft, message.information);
      break;
    case 'watch':
      if (message.node === undefined) watched(draft, message.watcher);
      break;
    case 'timer':
      timerFired(draft, message.name, message.data);
      break;
  }
  const { events, send, timers } = draft.done();
  return decision({ events, send, timers });
};

const decide = (
  state: ProgramState,
  message: ProgramMessage,
  { now }: { readonly now: number },
): Decision<ProgramFact> => {
  switch (message.kind) {
    case 'submit': {
      const { program } = message.payload;
      if (program === undefined) throw new Error('a program is submitted without one');
      return submit(state, message.task, program, message.payload, now);
    }
    case 'fork_program':
      return fork(state, message, now);
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry':
      if (state.phase === 'absent') return unknown(message.payload.id);
      return byHand(createDraft(state, message.payload.id, now), message);
    case 'work':
      if (state.phase === 'absent') return unknown(message.payload.task);
      return working(createDraft(state, message.payload.task, now), message.payload);
    case 'approval':
    case 'notify':
    case 'watch':
    case 'timer':
      return state.phase === 'absent' ? decision({}) : reply(state, message, now);
  }
};

/** A task whose workflow is a program: the only writer of its phase, like that of every other. */
export const programDecider: Decider<ProgramState, ProgramMessage, ProgramFact> = {
  initial: absent,
  evolve,
  decide,
};
