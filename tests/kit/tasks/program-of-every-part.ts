import { ask, defineWorkflow, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';

const State = z.object({
  file: z.string(),
  seen: z.array(z.string()).default([]),
  rounds: z.number().default(0),
  approved: z.boolean().default(false),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

/** Every part of a phase that runs user code, in the order of a task. */
export const PARTS = [
  'guard',
  'before',
  'run',
  'step',
  'after step',
  'item',
  'after effect',
  'after sleep',
  'after',
  'finally',
  'next',
  'after a round',
  'before the question',
  'prompt',
  'onResponse',
  'after the answer',
  'next of the answer',
  'before the effect',
  'effect',
  'onResult',
  'output',
] as const;
export type Part = (typeof PARTS)[number];

/** The name of the program whose workers die in one part, so that no other worker takes its tasks. */
export const nameFor = (part: string): string => `every-part.${part.replaceAll(' ', '-')}`;

/** A program that passes every part of a phase and reports each. */
export const programOfEveryPart = (id: string, at: (part: Part) => void) =>
  defineWorkflow({
    id,
    version: '1',
    state: State,
    initial: 'work',
    phases: {
      work: agentPhase({
        guard: () => {
          at('guard');
          return true;
        },
        before: () => at('before'),
        run: async (ctx) => {
          at('run');
          const made = await ctx.step('make', () => {
            at('step');
            return 'made';
          });
          at('after step');
          await ctx.effect({
            kind: 'write_external',
            capability: 'cap.file.append',
            args: { file: ctx.state.file, line: 'first' },
            idempotencyKey: 'first',
            target: `file:${ctx.state.file}`,
          });
          at('after effect');
          await ctx.sleep(50, 'a while');
          at('after sleep');
          ctx.update((draft) => void draft.seen.push(made));
        },
        after: () => at('after'),
        finally: () => at('finally'),
        next: () => {
          at('next');
          return 'each';
        },
      }),
      each: agentPhase({
        forEach: () => ['a', 'b', 'c'],
        parallel: 2,
        run: (_ctx, item) => {
          at('item');
          return item.toUpperCase();
        },
        after: (ctx, items) => ctx.update((draft) => void draft.seen.push(...items)),
        next: 'rounds',
      }),
      rounds: agentPhase({
        forEach: (state) => [`round ${String(state.rounds)}`],
        run: (_ctx, item) => item,
        after: (ctx, items) => {
          ctx.update((draft) => {
            draft.seen.push(...items);
            draft.rounds += 1;
          });
          if (ctx.state.rounds === 2) at('after a round');
        },
        until: (state) => state.rounds === 2,
        next: 'review',
      }),
      review: humanPhase({
        guard: (state) => state.rounds === 2,
        before: async (ctx) => {
          const asked = await ctx.step('ask', () => 'asked');
          at('before the question');
          ctx.update((draft) => void draft.seen.push(asked));
        },
        input: ask.approval(),
        prompt: () => {
          at('prompt');
          return { title: 'Go on?' };
        },
        onResponse: (yes, draft) => {
          at('onResponse');
          draft.approved = yes;
        },
        after: async (ctx, yes) => {
          const answer = await ctx.step('answer', () => `answered ${String(yes)}`);
          at('after the answer');
          ctx.update((draft) => void draft.seen.push(answer));
        },
        next: () => {
          at('next of the answer');
          return 'publish';
        },
      }),
      publish: effectPhase({
        before: () => at('before the effect'),
        effect: (state) => {
          at('effect');
          return {
            kind: 'write_external',
            capability: 'cap.file.append',
            args: { file: state.file, line: 'second' },
            idempotencyKey: 'second',
            target: `file:${state.file}`,
          };
        },
        onResult: (_outputs, draft) => {
          at('onResult');
          draft.seen.push('published');
        },
        after: (ctx) => ctx.update((draft) => void draft.seen.push('checked')),
        next: 'done',
      }),
      done: terminalPhase({
        output: (state) => {
          at('output');
          return state.seen;
        },
      }),
    },
  });
