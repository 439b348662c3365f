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

/** Every key is in the submission: a program started by name has no defaults. */
const State = z.object({
  task: z.string(),
  origin: z.string(),
  url: z.string(),
  body: z.record(z.string(), z.string()),
  /** A random value of the first run of the step: a second run would give another. */
  token: z.string(),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

export const PROGRAM = 'torture.counted';
export const TOKEN_STEP = 'token';
const VERSION = '1';
const COUNT = 'count' as NodeId;
const KEY = 'count';

/** Records a step, asks a question and requests one effect. */
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
    // A completed program has had its effect.
    left: terminalPhase({ outcome: 'failed', output: () => 'nobody wanted it' }),
  },
});

/** The id of its only question. */
export const questionOf = (task: TaskId): ApprovalId => inputIdOf(task, 1);

/** The task of its effect. Its phases are not retried, so there is one. */
export const childOf = (task: TaskId): TaskId => effectTaskIdOf(task, KEY, 1);
export const childEffectOf = (task: TaskId): EffectId => effectIdOf(childOf(task), COUNT, KEY);
export const childApprovalOf = (task: TaskId): ApprovalId => approvalIdOf(childOf(task), COUNT, 1);

export const childSubmissionOf = (task: TaskId) => ({
  id: childOf(task),
  workflow: `${PROGRAM}@${VERSION}`,
  goal: `count ${task} once, for its program`,
  inputs: {},
});
