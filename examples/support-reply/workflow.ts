import { ask, defineWorkflow, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';
import type { Writer } from './writer.ts';

const State = z.object({
  customer: z.string().min(1).max(100),
  question: z.string().min(1).max(10_000),
  answer: z.string().default(''),
  /** Change requests of the reviewer. */
  wishes: z.array(z.string()).default([]),
  reminders: z.int().default(0),
});
const { agentPhase, humanPhase, effectPhase, terminal } = phasesFor(State);

const DAY_MS = 24 * 60 * 60_000;
const REMINDERS_MAX = 3;

const Review = z.object({
  verdict: z.enum(['send', 'rewrite', 'close']).meta({ title: 'What now?' }),
  wish: z.string().max(1_000).optional().meta({ title: 'What should be different?' }),
  answer: z.string().max(5_000).optional().meta({ title: 'Your own text instead' }),
});

const line = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** Drafts an answer, waits days for a reviewer, sends reminders, and sends the answer once. */
export const supportReply = (writer: Writer) =>
  defineWorkflow({
    id: 'support-reply',
    version: '1',
    build: writer.version,
    state: State,
    initial: 'draft',
    phases: {
      draft: agentPhase({
        run: async (ctx) => {
          const { question, wishes } = ctx.state;
          const answer = await ctx.step('write', () => writer.write(question, wishes, ctx.signal));
          ctx.update((draft) => void (draft.answer = answer));
        },
        onError: { strategy: 'retry', maxRetries: 5, backoff: 'exponential', delayMs: 10_000 },
        next: 'review',
      }),
      review: humanPhase({
        input: ask.form(Review),
        prompt: (state) => ({
          title: `Send this to ${state.customer}?`,
          body: `${state.question}\n\n${state.answer}`,
        }),
        audience: ['group:support', 'operators'],
        expiresMs: 2 * DAY_MS,
        onExpired: 'remind',
        onResponse: ({ wish, answer }, draft) => {
          if (wish !== undefined) draft.wishes.push(wish);
          if (answer !== undefined) draft.answer = answer;
        },
        next: (_state, { verdict }) =>
          verdict === 'send' ? 'send' : verdict === 'rewrite' ? 'draft' : 'closed',
      }),
      remind: effectPhase({
        effect: (state) => ({
          kind: 'notify',
          capability: 'cap.file.append',
          args: { file: 'reminders.txt', line: line(`${state.customer} waits for an answer`) },
          target: 'file:reminders.txt',
          idempotencyKey: `remind:${String(state.reminders + 1)}`,
          title: `Remind support of ${state.customer}`,
          approvalTimeoutMs: DAY_MS,
        }),
        onResult: (_outputs, draft) => void (draft.reminders += 1),
        onRejected: 'unanswered',
        // After each reminder the question opens again, up to the limit.
        next: (state) => (state.reminders < REMINDERS_MAX ? 'review' : 'unanswered'),
      }),
      send: effectPhase({
        effect: (state) => ({
          kind: 'notify',
          capability: 'cap.file.append',
          args: { file: 'sent.txt', line: line(`${state.customer}: ${state.answer}`) },
          target: 'file:sent.txt',
          idempotencyKey: 'send',
          title: `Send the answer to ${state.customer}`,
        }),
        onRejected: 'closed',
        next: 'done',
      }),
      done: terminal({ output: ({ answer }) => ({ sent: answer }) }),
      closed: terminal({ output: () => ({ sent: null }) }),
      unanswered: terminal({ outcome: 'failed', output: ({ reminders }) => ({ reminders }) }),
    },
  });
