import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandLine, type Output } from '../kit/command-line.ts';
import { appliedByKey } from '../kit/effects/effect-file.ts';
import { createSystem, type System } from '../kit/stack/system.ts';
import { newTaskId, sampleTask } from '../kit/tasks/tasks.ts';

let system: System;
let holdpoint: (...args: readonly string[]) => Promise<Output>;
beforeAll(async () => {
  system = await createSystem();
  const services = await Promise.all(SERVICES.map((service) => system.spawn(service)));
  await Promise.all(services.map(({ started }) => started()));
  holdpoint = commandLine(system);
});
afterAll(() => system.stop());

const submit = async () => {
  const task = sampleTask(newTaskId());
  const inputs = ['--input', 'file=sample.txt', '--input', `line=${task.line}`];
  const submitted = await holdpoint(
    'task',
    'submit',
    '--workflow',
    'sample',
    '--goal',
    'append a line',
    '--id',
    task.id,
    ...inputs,
  );
  return { task, submitted };
};

describe('a gated task from the command line', () => {
  test('a gated task waits, is approved, runs once and completes', async () => {
    const { task, submitted } = await submit();
    expect(submitted).toEqual({ code: 0, out: `task ${task.id} is awaiting_approval\n`, err: '' });

    await expect
      .poll(async () => (await holdpoint('approval', 'list')).out, { timeout: 60_000 })
      .toContain(task.approval);
    const shown = await holdpoint('approval', 'show', task.approval);
    expect(shown.out).toContain(task.line);
    expect((await appliedByKey(system.workspace)).has(task.effect)).toBe(false);

    // The watch starts before the decision and ends with the task.
    const watching = holdpoint('task', 'watch', task.id);
    expect(await holdpoint('approval', 'approve', task.approval, '--comment', 'looks right')).toMatchObject({
      code: 0,
      err: '',
    });
    const watched = await watching;
    expect(watched).toMatchObject({ code: 0, err: '' });
    expect(watched.out).toMatch(
      /submitted[^]*approval_requested[^]*effect_ordered[^]*node_succeeded[^]*completed/,
    );

    expect((await holdpoint('task', 'show', task.id)).out).toContain('completed');
    expect((await holdpoint('effect', 'list', task.id)).out).toMatch(
      new RegExp(`${task.effect}.*append +applied +1 `),
    );
    expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
  });

  test('a rejected task fails, and nothing runs', async () => {
    const { task } = await submit();
    await expect
      .poll(async () => (await holdpoint('approval', 'reject', task.approval)).code, { timeout: 60_000 })
      .toBe(0);
    const watched = await holdpoint('task', 'watch', task.id);
    expect(watched.code).toBe(1);
    expect(watched.out).toContain('ERR_FORBIDDEN');
    expect((await holdpoint('effect', 'list', task.id)).out).toBe('no effects\n');
    const again = await holdpoint('approval', 'approve', task.approval);
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/^error APPROVALS_ALREADY_DECIDED: .*rejected/);
  });

  test.each([
    [['task', 'submit', '--workflow', 'no-such', '--goal', 'x'], 1, 'ORCHESTRATOR_UNKNOWN_WORKFLOW'],
    [['task', 'submit', '--workflow', 'sample'], 2, 'goal'],
    [['task', 'show', 't-none'], 1, 'ORCHESTRATOR_UNKNOWN_TASK'],
    [['approval', 'approve', 'a-none'], 1, 'APPROVALS_UNKNOWN'],
  ] as const)('holdpoint %j fails with the reason', async (args, code, message) => {
    const refused = await holdpoint(...args);
    expect(refused).toMatchObject({ code, out: '' });
    expect(refused.err).toContain(message);
  });
});
