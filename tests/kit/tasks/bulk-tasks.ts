import { expect } from 'vitest';
import { appliedByKey } from '../effects/effect-file.ts';
import type { System } from '../stack/system.ts';
import { approve, type SampleTask, submitSample, waitForPhase } from './tasks.ts';

/** Submits many tasks and waits until all of them are at their gates. */
export const submitCrowd = async ({ client }: System, size: number): Promise<readonly SampleTask[]> => {
  const tasks = await Promise.all(Array.from({ length: size }, () => submitSample(client)));
  await Promise.all(tasks.map(({ id }) => waitForPhase(client, id, 'awaiting_approval')));
  return tasks;
};

export const approveCrowd = async ({ client }: System, tasks: readonly SampleTask[]): Promise<void> =>
  void (await Promise.all(tasks.map((task) => approve(client, task))));

/** Submits and approves tasks one after the other, in several lanes, until the returned function is called. */
export const keepBusy = ({ client }: System, lanes = 3): (() => Promise<readonly SampleTask[]>) => {
  let ending = false;
  const work = async (): Promise<readonly SampleTask[]> => {
    const tasks: SampleTask[] = [];
    while (!ending) {
      const task = await submitSample(client);
      tasks.push(task);
      await approve(client, task);
    }
    return tasks;
  };
  const working = Promise.all(Array.from({ length: lanes }, work));
  // The caller of the returned function receives the error.
  working.catch(() => undefined);
  return async () => {
    ending = true;
    return (await working).flat();
  };
};

/** Waits until all are completed, and counts the effects: each once, with a history without gaps. */
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
