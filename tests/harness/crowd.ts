import { expect } from 'vitest';
import { appliedByKey } from './effect-file.ts';
import type { System } from './system.ts';
import { approve, type SampleTask, submitSample, waitForPhase } from './tasks.ts';

/** Submits many tasks, and waits until all of them are held at their gates. */
export const submitCrowd = async ({ client }: System, size: number): Promise<readonly SampleTask[]> => {
  const tasks = await Promise.all(Array.from({ length: size }, () => submitSample(client)));
  await Promise.all(tasks.map(({ id }) => waitForPhase(client, id, 'awaiting_approval')));
  return tasks;
};

export const approveCrowd = async ({ client }: System, tasks: readonly SampleTask[]): Promise<void> =>
  void (await Promise.all(tasks.map((task) => approve(client, task))));

/** Waits until all are completed, and counts what was carried out: each effect once, with a history without gaps. */
export const expectAllDoneOnce = async (system: System, tasks: readonly SampleTask[]): Promise<void> => {
  const { client, workspace } = system;
  await Promise.all(tasks.map(({ id }) => waitForPhase(client, id, 'completed')));
  const applied = await appliedByKey(workspace);
  expect(tasks.filter(({ effect }) => applied.get(effect) !== 1)).toEqual([]);
  for (const { id } of tasks) {
    const { events } = await client.ask('orchestrator', 'history', { id });
    expect(events.map(({ version }) => version)).toEqual(events.map((_event, index) => index + 1));
    expect(events.filter(({ type }) => type === 'completed')).toHaveLength(1);
  }
};
