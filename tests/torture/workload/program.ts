import {
  approvalIdOf,
  type ApprovalId,
  effectIdOf,
  type EffectId,
  effectTaskIdOf,
  inputIdOf,
  type NodeId,
  type TaskId,
} from '@holdpoint/contracts/values/ids';
import { ask, defineWorkflow, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';

/** Every key is given with the submission: whoever starts a program by its name alone has no defaults. */
const State = z.object({
  task: z.string(),
  origin: z.string(),
  url: z.string(),
  body: z.record(z.string(), z.string()),
  /** What only the first run of the step knows; another run of it would know something else. */
  token: z.string(),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

export const PROGRAM = 'torture.counted';
export const TOKEN_STEP = 'token';
const VERSION = '1';
const COUNT = 'count' as NodeId;
const KEY = 'count';

/** Records something, asks people, and has one effect carried out. */
export const countedProgram = defineWorkflow({
  id: PROGRAM,
  version: VERSION,
  state: State,
  initial: 'prepare',
  phases: {
    prepare: agentPhase({
      run: async (ctx) => {
        const token = await ctx.step('token', () => globalThis.crypto.randomUUID());
        ctx.update((draft) => void (draft.token = token));
      },
      next: 'review',
    }),
    review: humanPhase({
      input: ask.approval(),
      prompt: (state) => ({ title: `Count ${state.task}?` }),
      onResponse: () => undefined,
      next: (_state, yes) => (yes ? 'count' : 'left'),
    }),
    count: effectPhase({
      effect: (state) => ({
        kind: 'write_external',
        capability: 'cap.http.keyed_request',
        args: { url: state.url, method: 'POST', body: state.body },
        idempotencyKey: 'count',
        target: state.origin,
        title: `count ${state.task} once, for its program`,
      }),
      next: 'done',
    }),
    done: terminalPhase({ output: (state) => state.token }),
    // So that whatever is completed has had its effect.
    left: terminalPhase({ outcome: 'failed', output: () => 'nobody wanted it' }),
  },
});

/** The one question that it asks. */
export const questionOf = (task: TaskId): ApprovalId => inputIdOf(task, 1);

/** The task that carries out its effect. No phase of it is tried again, so that it is asked for once. */
export const childOf = (task: TaskId): TaskId => effectTaskIdOf(task, KEY, 1);
export const childEffectOf = (task: TaskId): EffectId => effectIdOf(childOf(task), COUNT, KEY);
export const childApprovalOf = (task: TaskId): ApprovalId => approvalIdOf(childOf(task), COUNT, 1);

/** What the task of its effect has to look like. */
export const childSubmissionOf = (task: TaskId) => ({
  id: childOf(task),
  workflow: `${PROGRAM}@${VERSION}`,
  goal: `count ${task} once, for its program`,
  inputs: {},
});
