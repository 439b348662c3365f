import { createTestEnvironment, type TestEnvironment } from '@holdpoint/sdk/testing';
import { expect, onTestFinished, test } from 'vitest';
import { standIn } from './store.ts';
import { dataMigration } from './workflow.ts';

const workflow = dataMigration(standIn);
const environment = (): TestEnvironment => {
  const env = createTestEnvironment({ workflows: [workflow] });
  onTestFinished(env.stop);
  return env;
};
const keysOf = (env: TestEnvironment): readonly string[] =>
  env.effects().map(({ idempotencyKey }) => idempotencyKey);

test('every batch is moved once, with a limited number at a time', async () => {
  const env = environment();
  env.onEffect(() => ({ outcome: 'succeeded', afterMs: 60_000 }));
  const began = env.now();
  const task = await env.start(workflow, { table: 'customers', batchSize: 200 });
  expect(await task.result()).toEqual({ table: 'customers', batches: 5 });
  expect(keysOf(env)).toEqual(['move:0', 'move:200', 'move:400', 'move:600', 'move:800']);
  // Five minutes of work in two waves.
  expect(env.now() - began).toBeLessThan(3 * 60_000);
});

test('a table without rows completes at once', async () => {
  const empty = dataMigration({ ...standIn, version: 'empty', count: () => Promise.resolve(0) });
  const env = createTestEnvironment({ workflows: [empty] });
  onTestFinished(env.stop);
  const task = await env.start(empty, { table: 'nobody' });
  expect(await task.result()).toEqual({ table: 'nobody', batches: 0 });
});

test.each([
  ['fails', { outcome: 'failed', error: { code: 'EXECUTOR_TARGET_REFUSED', message: 'the disk is full' } }],
  ['is rejected', { outcome: 'rejected', comment: 'the disk is full' }],
] as const)('when a batch %s, the moved batches are reverted, latest first', async (_what, end) => {
  const env = environment();
  env.onEffect(({ idempotencyKey }) => (idempotencyKey === 'move:750' ? end : undefined));
  const task = await env.start(workflow, { table: 'customers' });
  await expect(task.result()).rejects.toMatchObject({
    name: 'WorkflowFailed',
    output: { problem: 'the disk is full', takenBack: 3 },
  });
  expect(keysOf(env).slice(4)).toEqual(['take-back:500', 'take-back:250', 'take-back:0']);
});

test('a failed rollback continues where it stopped after an operator agrees', async () => {
  const env = environment();
  let isMended = false;
  env.onEffect(({ idempotencyKey }) =>
    idempotencyKey === 'move:750' || (idempotencyKey === 'take-back:250' && !isMended)
      ? { outcome: 'failed' }
      : undefined,
  );
  const task = await env.start(workflow, { table: 'customers' });
  await env.settled();
  expect(env.questions()).toMatchObject([
    { phase: 'roll_back', title: 'The rollback of customers has failed. Try again?' },
  ]);
  isMended = true;
  env.onInput([{ response: 'retry' }]);
  await expect(task.result()).rejects.toMatchObject({ output: { takenBack: 3 } });
  expect(keysOf(env).filter((key) => key === 'take-back:500')).toHaveLength(1);
});

test('after a worker crash in the middle of a wave no batch is moved twice', async () => {
  const env = environment();
  env.crashWorkerAt('after:record', { phase: 'migrate', nth: 4 });
  env.crashWorkerAt('before:end', { phase: 'migrate', nth: 2 });
  env.lose('news', 3);
  const task = await env.start(workflow, { table: 'customers' });
  expect(await task.result()).toEqual({ table: 'customers', batches: 4 });
  expect(keysOf(env)).toHaveLength(4);
});
