import { createTestEnvironment, type TestEnvironment } from '@holdpoint/sdk/testing';
import { expect, onTestFinished, test } from 'vitest';
import { supportReply } from './workflow.ts';
import { standIn } from './writer.ts';

const workflow = supportReply(standIn);
const DAY_MS = 24 * 60 * 60_000;
const input = { customer: 'Ada', question: 'when do you open?' };
const environment = (): TestEnvironment => {
  const env = createTestEnvironment({ workflows: [workflow] });
  onTestFinished(env.stop);
  return env;
};
const keysOf = (env: TestEnvironment): readonly string[] =>
  env.effects().map(({ idempotencyKey }) => idempotencyKey);

test('an answer is sent once after the review, however late', async () => {
  const env = environment();
  const task = await env.start(workflow, input);
  await env.advance(DAY_MS);
  const [question] = env.questions();
  expect(question).toMatchObject({ title: 'Send this to Ada?', audience: ['group:support', 'operators'] });
  if (question !== undefined) env.answer(question, { response: { verdict: 'send' }, by: 'grace' });
  expect(await task.result()).toEqual({ sent: 'Thank you for asking: when do you open?' });
  expect(keysOf(env)).toEqual(['send']);
});

test('a reviewer may request a new draft or write their own text', async () => {
  const env = environment();
  env.onInput([
    { response: { verdict: 'rewrite', wish: 'shorter' } },
    { response: { verdict: 'send', answer: 'At nine.' } },
  ]);
  const task = await env.start(workflow, input);
  expect(await task.result()).toEqual({ sent: 'At nine.' });
  expect(await task.state()).toMatchObject({ wishes: ['shorter'] });
});

test('reviewers get a reminder every two days until the task gives up', async () => {
  const env = environment();
  env.onInput(() => undefined);
  const began = env.now();
  const task = await env.start(workflow, input);
  await env.advance(7 * DAY_MS);
  await expect(task.result()).rejects.toMatchObject({ name: 'WorkflowFailed', output: { reminders: 3 } });
  expect(keysOf(env)).toEqual(['remind:1', 'remind:2', 'remind:3']);
  expect(env.now() - began).toBeGreaterThanOrEqual(6 * DAY_MS);
});

test('an answer after a reminder is in time', async () => {
  const env = environment();
  const task = await env.start(workflow, input);
  await env.advance(3 * DAY_MS);
  expect(keysOf(env)).toEqual(['remind:1']);
  env.onInput([{ response: { verdict: 'close' } }]);
  expect(await task.result()).toEqual({ sent: null });
});

test('worker restarts during a review do not repeat the answer', async () => {
  const env = environment();
  env.crashWorkerAt('before:end', { phase: 'review' });
  env.crashWorkerAt('after:record', { phase: 'send' });
  const task = await env.start(workflow, input);
  await env.advance(DAY_MS);
  await env.restartWorker();
  env.onInput([{ response: { verdict: 'send' } }]);
  expect(await task.result()).toMatchObject({ sent: expect.stringContaining('Thank you') as string });
  expect(keysOf(env)).toEqual(['send']);
});
