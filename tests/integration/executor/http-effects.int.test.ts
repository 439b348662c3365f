import { join } from 'node:path';
import { fetchLedger, type LedgerRecord } from '../../counter/ledger.ts';
import { chancesOf, DEFAULT_MIX, drawMode, type Mode } from '../../counter/modes.ts';
import { type Counter, startCounter } from '../../counter/server.ts';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '../../kit/bus/client.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approve, newTaskId, type SampleTask, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

let system: System;
let counter: Counter;
beforeAll(async () => {
  system = await createSystem();
  counter = await startCounter({
    file: join(system.folder, 'counter.ndjson'),
    host: '127.0.0.1',
    port: 0,
    seed: 'integration',
    mode: 'normal',
    mix: DEFAULT_MIX,
    keyWindowMs: Infinity,
    slowMs: [1, 1],
    holdMs: [600_000, 600_000],
  });
  const targets = { HOLDPOINT_HTTP_TARGETS: counter.origin, HOLDPOINT_HTTP_KEYED_TARGETS: counter.origin };
  await Promise.all(SERVICES.map((service) => system.start(service, service === 'executor' ? targets : {})));
});
afterAll(async () => {
  await counter.stop();
  await system.stop();
});

const NODE = 'request' as NodeId;

const taskOf = (id = newTaskId()): SampleTask => ({
  id,
  line: '',
  approval: approvalIdOf(id, NODE, 1),
  effect: effectIdOf(id, NODE, 'request'),
});

const submit = async (task: SampleTask, inputs: JsonObject): Promise<void> => {
  await until(`task ${task.id} is taken`, () =>
    system.client.ask('orchestrator', 'submit', { id: task.id, workflow: 'http', goal: 'tell them', inputs }),
  );
};

const submitAndApprove = async (task: SampleTask, inputs: JsonObject): Promise<void> => {
  await submit(task, inputs);
  await approve(system.client, task);
};

const control = (mode: 'mix' | Mode, mix = DEFAULT_MIX): Promise<Response> =>
  fetch(`${counter.origin}/control`, { method: 'POST', body: JSON.stringify({ mode, mix }) });

/** The requests of a task at the counter, in order. */
const seen = async ({ effect }: SampleTask): Promise<readonly LedgerRecord['type'][]> =>
  (await fetchLedger(counter.origin)).flatMap((record) =>
    'key' in record && record.key === effect ? [record.type] : [],
  );

/** A task whose requests meet these modes, one after the other. */
const taskThatMeets = (mix: Readonly<Partial<Record<Mode, number>>>, modes: readonly Mode[]): SampleTask => {
  for (;;) {
    const task = taskOf();
    const drawn = modes.map((_, i) => drawMode(mix, chancesOf('integration', task.effect, i + 1)));
    if (drawn.join() === modes.join()) return task;
  }
};

describe('an HTTP effect', () => {
  test('an HTTP effect is sent once it is approved, and its output is the answer of the target', async () => {
    await control('normal');
    const task = taskOf();
    await submit(task, { url: `${counter.origin}/opaque/orders`, body: { order: 7 } });
    await waitForPhase(system.client, task.id, 'awaiting_approval');
    expect(await seen(task)).toEqual([]);
    await approve(system.client, task);
    const { nodes } = await waitForPhase(system.client, task.id, 'completed');
    expect(nodes.find(({ id }) => id === NODE)?.outputs).toMatchObject({ status: 200, truncated: false });
    expect(await seen(task)).toEqual(['request', 'applied']);
  });

  test('an in-doubt HTTP effect is repeated with its key on an idempotent target, and applied once', async () => {
    const mix = { normal: 1, apply_then_reset: 1 };
    await control('mix', mix);
    const task = taskThatMeets(mix, ['apply_then_reset', 'normal']);
    await submitAndApprove(task, { url: `${counter.origin}/keyed/orders`, keyed: true });
    await waitForPhase(system.client, task.id, 'completed');
    expect(await seen(task)).toEqual(['request', 'applied', 'request', 'repeated']);
    expect(await system.client.ask('executor', 'get', { id: task.effect })).toMatchObject({ starts: 2 });
  });

  test('an in-doubt HTTP effect on any other target is not repeated: a person is asked', async () => {
    await control('apply_then_500');
    const task = taskOf();
    await submitAndApprove(task, { url: `${counter.origin}/opaque/orders` });
    const { nodes } = await waitForPhase(system.client, task.id, 'paused');
    expect(nodes.find(({ id }) => id === NODE)?.error?.message).toContain('the target answered 500');
    expect(await seen(task)).toEqual(['request', 'applied']);
    expect(await system.client.ask('executor', 'get', { id: task.effect })).toMatchObject({
      state: 'in_doubt',
    });
  });

  test('a target that no executor allows is refused before people are asked, with the setting', async () => {
    const task = taskOf();
    await submit(task, { url: 'http://127.0.0.1:9/' });
    const { error } = await waitForPhase(system.client, task.id, 'failed');
    expect(error).toMatchObject({
      code: 'EXECUTOR_TARGET_NOT_ALLOWED',
      message:
        'rejected by policy: EXECUTOR_TARGET_NOT_ALLOWED: add http://127.0.0.1:9 to HOLDPOINT_HTTP_TARGETS of the executor',
    });
    const { items } = await system.client.ask('executor', 'list', { task: task.id });
    expect(items).toEqual([]);
  });

  test('each service but the executor names the process that decides for it', async () => {
    const named = await Promise.all(
      SERVICES.map(async (service) => {
        const { owner } = await system.client.ask(service, 'info', {});
        return owner?.process === undefined ? [] : [service];
      }),
    );
    expect(named.flat()).toEqual(SERVICES.filter((service) => service !== 'executor'));
  });
});

test('a request that cannot be sent is refused at submission, with the name of the input', async () => {
  const inputs = { url: `ftp://${new URL(counter.origin).host}/`, method: 'BREW' };
  const submitted = system.client.ask('orchestrator', 'submit', { workflow: 'http', goal: 'brew', inputs });
  const refusal = await submitted.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal).toMatchObject({ code: 'ORCHESTRATOR_WORKFLOW_INVALID' });
  expect((refusal as Refusal).message).toMatch(/input method: .*input url: /);
});
