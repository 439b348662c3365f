import { errorBody } from '@holdpoint/contracts/values/errors';
import { type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';
import { onOperatorCommand } from './commands.ts';
import { createDecisionBuilder } from './decision-builder.ts';
import { evolve } from './evolve.ts';
import { onNotification, questionClosed, onWatch } from './on-effect-ended.ts';
import type { ProgramMessage } from './messages.ts';
import { onAnswer } from './question.ts';
import { absent, isOver, type Program, type ProgramTaskEvent, type ProgramState } from './state.ts';
import { fork, submit } from './submit.ts';
import { PROGRAM_TIMING, type ProgramTiming } from './timing.ts';
import { onTimer } from './on-timer.ts';
import { onWorkMessage } from './on-work-message.ts';

const unknown = (id: string): Decision<never> =>
  refused(errorBody('ORCHESTRATOR_UNKNOWN_TASK', `unknown task: ${id}`));

/** Replies and timers have no caller. */
const reply = (
  task: Program,
  message: Extract<ProgramMessage, { readonly kind: 'approval' | 'notify' | 'watch' | 'timer' }>,
  now: number,
  timing: ProgramTiming,
): Decision<ProgramTaskEvent> => {
  const builder = createDecisionBuilder(task, task.id, now, timing);
  switch (message.kind) {
    case 'approval':
      questionClosed(builder, message.event);
      if (!isOver(task)) onAnswer(builder, message.event);
      break;
    case 'notify':
      onNotification(builder, message.notification);
      break;
    case 'watch':
      if (message.node === undefined) onWatch(builder, message.watcher);
      break;
    case 'timer':
      onTimer(builder, message.name, message.data);
      break;
  }
  const { events, send, timers } = builder.done();
  return decision({ events, send, timers });
};

const decide = (
  state: ProgramState,
  message: ProgramMessage,
  { now }: { readonly now: number },
  timing: ProgramTiming,
): Decision<ProgramTaskEvent> => {
  switch (message.kind) {
    case 'submit': {
      const { program } = message.payload;
      if (program === undefined) throw new Error('the submission has no program');
      return submit(state, message.task, program, message.payload, now, timing);
    }
    case 'fork_program':
      return fork(state, message, now, timing);
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry':
    case 'record_review':
      if (state.phase === 'absent') return unknown(message.payload.id);
      return onOperatorCommand(createDecisionBuilder(state, message.payload.id, now, timing), message);
    case 'work':
      if (state.phase === 'absent') return unknown(message.payload.task);
      return onWorkMessage(createDecisionBuilder(state, message.payload.task, now, timing), message.payload);
    case 'approval':
    case 'notify':
    case 'watch':
    case 'timer':
      return state.phase === 'absent' ? decision({}) : reply(state, message, now, timing);
  }
};

/** The decider of tasks whose workflow is a program. */
export const createProgramDecider = (
  timing: ProgramTiming = PROGRAM_TIMING,
): Decider<ProgramState, ProgramMessage, ProgramTaskEvent> => ({
  initial: absent,
  evolve,
  decide: (state, message, at) => decide(state, message, at, timing),
});

export const programDecider = createProgramDecider();
