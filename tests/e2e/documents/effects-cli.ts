import { TaskId } from '@holdpoint/contracts/values/ids';
import { expect } from 'vitest';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { sampleTask, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';
import { type Effect, taskOf } from './reader.ts';

const optionOf = (words: readonly string[], option: string): string => {
  const value = words[words.indexOf(option) + 1];
  if (!words.includes(option) || value === undefined) throw new Error(`${option} is not there`);
  return value;
};

export const expectSubmitted: Effect = async (reader, words) => {
  const [, said] = /^task (\S+) is \w+\n$/.exec(await reader.enter(words)) ?? [];
  const id = TaskId.parse(said);
  expect(await waitForPhase(reader.system.client, id, 'awaiting_approval')).toMatchObject({
    workflow: `${optionOf(words, '--workflow')}@1`,
    goal: optionOf(words, '--goal'),
  });
  const { effect } = await waitForRequest(reader.system.client, sampleTask(id));
  const [input = '', value] = optionOf(words, '--input').split('=');
  expect(effect.args[input]).toBe(value);
  reader.fill('task', id);
};

export const expectListed: Effect = async (reader, words) => {
  const task = taskOf(reader);
  const approval = await until(`an approval of ${task} is listed`, async () => {
    const lines = (await reader.enter(words)).split('\n').map((line) => line.split(/\s+/));
    return lines.find(([, what]) => what?.startsWith(`${task}/`))?.[0];
  });
  expect(approval).toBe(sampleTask(task).approval);
  reader.fill('approval', approval);
};

export const expectShown: Effect = async (reader, words) => {
  const id = sampleTask(taskOf(reader)).approval;
  const { effect, digest } = await reader.system.client.ask('approvals', 'get', { id });
  const printed = await reader.enter(words);
  for (const part of [id, effect.target, effect.idempotencyKey, digest]) expect(printed).toContain(part);
  expect(JSON.parse(printed.slice(printed.indexOf('{')))).toEqual(effect.args);
};

export const expectApproved: Effect = async (reader, words) => {
  const { client, workspace } = reader.system;
  const { id, approval, effect } = sampleTask(taskOf(reader));
  expect((await appliedByKey(workspace)).has(effect)).toBe(false);
  expect(await reader.enter(words)).toContain(`${approval} is approved by operator`);
  await waitForPhase(client, id, 'completed');
  expect((await appliedByKey(workspace)).get(effect)).toBe(1);
};

export const expectWatched: Effect = async (reader, words) => {
  const events = (await reader.enter(words)).trimEnd().split('\n');
  expect(events.at(0)).toMatch(/^ +1 .* submitted /);
  expect(events.at(-1)).toMatch(/ completed$/);
};

export const expectEffectsListed: Effect = async (reader, words) => {
  const { effect } = sampleTask(taskOf(reader));
  expect(await reader.enter(words)).toMatch(new RegExp(`^${effect} .* applied +1 `, 'm'));
};
