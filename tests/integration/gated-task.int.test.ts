import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appliedByKey } from '../harness/effect-file.ts';
import { createSystem, type System } from '../harness/system.ts';
import { approveAndComplete, submitSample, waitForPhase, waitForRequest } from '../harness/tasks.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
  await system.startAll();
});
afterAll(() => system.stop());

describe('a gated task', () => {
  test('is held at its gate, approved, carried out once, and completed', async () => {
    const { client, workspace } = system;
    const task = await submitSample(client);
    await waitForRequest(client, task);
    expect((await waitForPhase(client, task.id, 'awaiting_approval')).nodes).toMatchObject([
      { id: 'prepare', status: 'succeeded' },
      { id: 'append', status: 'awaiting_approval', approval: task.approval },
      { id: 'done', status: 'idle' },
    ]);
    expect((await appliedByKey(workspace)).has(task.effect)).toBe(false);

    const view = await approveAndComplete(client, task);
    expect(view.nodes.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect((await appliedByKey(workspace)).get(task.effect)).toBe(1);
  });
});
