import { expect, test } from 'vitest';
import { z } from 'zod';
import { ask } from '../definition/ask.ts';
import { phasesFor } from '../definition/phases-for.ts';
import { defineWorkflow } from '../definition/workflow.ts';
import { createTestEnvironment } from '../testing/create-test-environment.ts';

const State = z.object({ topic: z.string(), words: z.number().default(0), said: z.string().optional() });
const { agentPhase, humanPhase, effectPhase, terminal } = phasesFor(State);

test('a workflow runs through an agent, a human, an effect and a terminal phase', async () => {
  const workflow = defineWorkflow({
    id: 'letter',
    version: '1',
    state: State,
    initial: 'write',
    phases: {
      write: agentPhase({
        run: (context) => {
          context.update((draft) => {
            draft.words = context.state.topic.length;
          });
          return { draft: 'Dear Ada' };
        },
        next: 'review',
      }),
      review: humanPhase({
        input: ask.choice(['send', 'drop']),
        prompt: (state) => ({ title: `Send ${state.topic}?` }),
        onResponse: (response, draft) => {
          draft.said = response;
        },
        next: (_state, response) => (response === 'send' ? 'send' : 'done'),
      }),
      send: effectPhase({
        effect: (state) => ({
          kind: 'notify',
          capability: 'cap.notify.webhook',
          args: {
            url: 'https://example.com/hook',
            secrets: ['${secret:HOOK}'],
            type: 'words.counted',
            data: { words: state.words },
          },
          idempotencyKey: 'send',
        }),
        next: 'done',
      }),
      done: terminal({ output: (state) => ({ ...state }) }),
    },
  });
  const env = createTestEnvironment({ workflows: [workflow] });
  env.onInput([{ response: 'send' }]);
  const handle = await env.start(workflow, { topic: 'tea' });
  expect(await handle.result()).toEqual({ topic: 'tea', words: 3, said: 'send' });
  expect(env.effects()).toMatchObject([{ idempotencyKey: 'send', args: { data: { words: 3 } } }]);
  env.stop();
});
