import { createTestEnvironment, type TestEnvironment } from '@holdpoint/sdk/testing';
import { expect, onTestFinished, test } from 'vitest';
import { type Agent, type CodingTask, standIn } from './agent.ts';
import { codingAgent } from './workflow.ts';

const workflow = codingAgent(standIn);
const environment = (of = workflow): TestEnvironment => {
  const env = createTestEnvironment({ workflows: [of] });
  onTestFinished(env.stop);
  return env;
};
const deploy = { response: { verdict: 'deploy' } };

test('the agent sees the problems of the checks until they pass, and an approved patch is deployed once', async () => {
  const env = environment();
  env.onInput([deploy]);
  const task = await env.start(workflow, { goal: 'a greeting' });
  expect(await task.result()).toEqual({
    deployed: 'a greeting',
    patch: '+ // a greeting\n+ test(goal)',
  });
  expect(env.effects()).toMatchObject([{ kind: 'deploy', idempotencyKey: 'deploy' }]);
});

test('a change request leads to a new patch and another review', async () => {
  const env = environment();
  env.onInput([{ response: { verdict: 'change', remark: 'say please' } }, deploy]);
  const task = await env.start(workflow, { goal: 'a greeting' });
  expect(await task.result()).toMatchObject({
    patch: expect.stringContaining('as asked: say please') as string,
  });
  expect(await task.state()).toMatchObject({ remarks: ['say please'] });
});

test('a change request without remarks repeats the question', async () => {
  const env = environment();
  env.onInput([{ response: { verdict: 'change' } }]);
  await env.start(workflow, { goal: 'a greeting' });
  await env.settled();
  expect(env.questions()).toMatchObject([{ body: expect.stringContaining('describe the change') as string }]);
});

test.each([
  ['the reviewer drops it', { verdict: 'drop' }],
  ['no approver approves the deployment', { verdict: 'deploy' }],
])('nothing is deployed when %s', async (_what, response) => {
  const env = environment();
  env.onInput([{ response }]);
  env.onEffect(() => ({ outcome: 'rejected', comment: 'not on a Friday' }));
  const task = await env.start(workflow, { goal: 'a greeting' });
  await expect(task.result()).rejects.toMatchObject({ name: 'WorkflowFailed', output: { remarks: [] } });
});

test('a failing agent is retried with growing delays and sees the reasons', async () => {
  const tasks: CodingTask[] = [];
  const flaky: Agent = {
    ...standIn,
    version: 'flaky',
    code: (task, signal) => {
      tasks.push(task);
      return tasks.length > 3 ? standIn.code(task, signal) : Promise.reject(new Error('the model is away'));
    },
  };
  const of = codingAgent(flaky);
  const env = environment(of);
  env.onInput([deploy]);
  const began = env.now();
  const task = await env.start(of, { goal: 'a greeting' });
  expect(await task.result()).toMatchObject({ deployed: 'a greeting' });
  expect(tasks.map(({ hints }) => hints.length)).toEqual([0, 1, 2, 3]);
  expect(tasks[1]?.hints).toEqual(['the model is away']);
  // Delays of 5, 10 and 20 seconds of the test's time.
  expect(env.now() - began).toBeGreaterThanOrEqual(35_000);
});

test('an agent that never passes the checks fails the task with the reason', async () => {
  const hopeless = codingAgent({
    ...standIn,
    version: 'hopeless',
    check: () => Promise.resolve('it does not compile'),
  });
  const task = await environment(hopeless).start(hopeless, { goal: 'a greeting' });
  await expect(task.result()).rejects.toMatchObject({
    code: 'PROGRAM_PHASE_FAILED',
    message: 'Max retries exceeded: until did not hold after 4 runs',
  });
});

test('after a worker crash nothing is written or deployed twice', async () => {
  let written = 0;
  const counting: Agent = {
    ...standIn,
    version: 'counting',
    code: (task, signal) => ((written += 1), standIn.code(task, signal)),
  };
  const of = codingAgent(counting);
  const env = environment(of);
  env.onInput([deploy]);
  env.crashWorkerAt('after:record', { phase: 'code', nth: 2 });
  env.crashWorkerAt('after:record', { phase: 'deploy' });
  env.lose('answer', 2);
  const task = await env.start(of, { goal: 'a greeting' });
  expect(await task.result()).toMatchObject({ deployed: 'a greeting' });
  expect(written).toBe(2);
  expect(env.effects()).toHaveLength(1);
});
