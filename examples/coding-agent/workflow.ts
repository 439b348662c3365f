import { ask, defineWorkflow, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';
import type { Agent } from './agent.ts';

const State = z.object({
  goal: z.string().min(1),
  plan: z.array(z.string()).default([]),
  patch: z.string().default(''),
  /** The problems of the latest patch; empty when the checks pass. */
  report: z.string().default(''),
  /** Change requests of reviewers. */
  remarks: z.array(z.string()).default([]),
});
const { agentPhase, humanPhase, effectPhase, terminal } = phasesFor(State);

const Review = z
  .object({
    verdict: z.enum(['deploy', 'change', 'drop']).meta({ title: 'What now?' }),
    remark: z.string().max(2_000).optional().meta({ title: 'What should change?' }),
  })
  .refine(({ verdict, remark }) => verdict !== 'change' || remark !== undefined, 'describe the change');

/**
 * Plans, writes code until its checks pass, asks a reviewer, and deploys once an approver has approved
 * exactly that.
 */
export const codingAgent = (agent: Agent) =>
  defineWorkflow({
    id: 'coding-agent',
    version: '1',
    build: agent.version,
    state: State,
    initial: 'plan',
    phases: {
      plan: agentPhase({
        run: async (ctx) => {
          const plan = await ctx.step('plan', () => agent.plan(ctx.state.goal, ctx.signal));
          ctx.update((draft) => void (draft.plan = [...plan]));
        },
        onError: { strategy: 'retry', maxRetries: 2, backoff: 'exponential' },
        next: 'code',
      }),
      code: agentPhase({
        run: async (ctx) => {
          const { goal, plan, remarks, report } = ctx.state;
          const hints = [...ctx.hints.map(({ error }) => error.message), ...(report === '' ? [] : [report])];
          const patch = await ctx.step('write', () => agent.code({ goal, plan, remarks, hints }, ctx.signal));
          const problem = await ctx.step('check', () => agent.check(patch, ctx.signal));
          ctx.log('patch checked', { problem: problem ?? 'none' });
          ctx.update((draft) => {
            draft.patch = patch;
            draft.report = problem ?? '';
          });
        },
        // Each round shows the agent the problems of the last one.
        until: (state) => state.report === '',
        maxRuns: 4,
        // After a failure, the agent tries again and sees the reason.
        onError: { strategy: 'retry', maxRetries: 3, backoff: 'exponential', delayMs: 5_000 },
        next: 'review',
      }),
      review: humanPhase({
        input: ask.form(Review),
        prompt: (state) => ({
          title: `Deploy this for "${state.goal}"?`,
          body: [...state.plan.map((step) => `- ${step}`), '', state.patch].join('\n'),
        }),
        onResponse: ({ verdict, remark }, draft) => {
          if (verdict === 'change' && remark !== undefined) draft.remarks.push(remark);
        },
        next: (_state, { verdict }) =>
          verdict === 'deploy' ? 'deploy' : verdict === 'change' ? 'code' : 'dropped',
      }),
      deploy: effectPhase({
        effect: (state) => ({
          kind: 'deploy',
          capability: 'cap.file.append',
          args: { file: 'deployments.txt', line: `${state.goal}: ${String(state.patch.length)} characters` },
          target: 'file:deployments.txt',
          idempotencyKey: 'deploy',
          title: `Deploy "${state.goal}"`,
        }),
        onRejected: 'dropped',
        next: 'done',
      }),
      done: terminal({ output: ({ goal, patch }) => ({ deployed: goal, patch }) }),
      dropped: terminal({ outcome: 'failed', output: ({ remarks }) => ({ remarks: [...remarks] }) }),
    },
  });
