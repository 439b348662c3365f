import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compileTemplate, loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approve,
  approveAndComplete,
  newTaskId,
  type SampleTask,
  waitForPhase,
  waitForRequest,
} from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const EXAMPLE = join(import.meta.dirname, '../../../services/executor/examples/custom-capability.ts');

let system: System;
beforeAll(async () => {
  system = await createSystem();
  await Promise.all(
    SERVICES.map((service) =>
      system.start(service, service === 'executor' ? { HOLDPOINT_CAPABILITIES: EXAMPLE } : {}),
    ),
  );
});
afterAll(() => system.stop());

const taskOf = (node: string, key: string): SampleTask => {
  const id = newTaskId();
  return {
    id,
    line: '',
    approval: approvalIdOf(id, node as NodeId, 1),
    effect: effectIdOf(id, node as NodeId, key),
  };
};

/** As the template of the documentation. */
const flagFlow = (folder: string, options: string): string => `
id = "flag"
version = "1"
[[nodes]]
id = "sale"
uses = "cap.custom.set_flag"
args = { folder = "${folder}", name = "sale", value = "on" }
[nodes.effect]
side_effect_kind = "deploy"
idempotency_key = "sale:on"
target = "flag:sale"
${options}
`;

const compiled = (text: string): WorkflowDefinition => {
  const { template, problems } = loadTemplate('flow.toml', () => text);
  if (template === undefined) throw new Error(JSON.stringify(problems));
  const made = compileTemplate(template, { set: {}, named: {}, positional: [], agentFor: () => undefined });
  if (made.definition === undefined) throw new Error(JSON.stringify(made.problems));
  return made.definition;
};

const submit = async (task: SampleTask, workflow: string, more: Partial<SubmitTask>): Promise<void> => {
  await until(`task ${task.id} is taken`, () =>
    system.client.ask('orchestrator', 'submit', { id: task.id, workflow, goal: 'set it', ...more }),
  );
};

const setFlag = async (folder: string, options: string): Promise<SampleTask> => {
  const task = taskOf('sale', 'sale:on');
  await submit(task, 'flag', { definition: compiled(flagFlow(folder, options)) });
  return task;
};

describe("a capability of the operator's own", () => {
  test('an operator’s own capability is previewed, runs once it is approved, and an approved effect undoes it', async () => {
    const folder = join(system.folder, 'flags');
    const file = join(folder, 'sale.flag');
    const submitted = await setFlag(folder, 'class = "probeable"\npreviews = true');
    await waitForPhase(system.client, submitted.id, 'awaiting_approval');
    expect(existsSync(file)).toBe(false);
    // The task waits before approvals has its request.
    const request = await waitForRequest(system.client, submitted);
    expect(request.effect.args['preview']).toEqual({ before: null, after: 'on' });
    // The preview is part of the effect, and of its id.
    const task = { ...submitted, effect: request.effectId };
    await approveAndComplete(system.client, task, system.client.approver);
    expect(readFileSync(file, 'utf8')).toBe('on');

    const order = await system.client.ask('executor', 'order', { id: task.effect });
    expect(order).toMatchObject({
      state: 'applied',
      outputs: { before: null },
      compensation: { uses: 'cap.custom.set_flag.compensate', effectClass: 'opaque' },
    });
    const undo = taskOf('undo', `undo:${task.effect}`);
    const { effect, outputs = {}, compensation } = order;
    await submit(undo, 'undo', {
      inputs: {
        effect: task.effect,
        uses: compensation?.uses ?? '',
        effectClass: compensation?.effectClass ?? '',
        args: effect.args,
        outputs,
        target: effect.target,
      },
    });
    await waitForPhase(system.client, undo.id, 'awaiting_approval');
    expect(existsSync(file)).toBe(true);
    await approveAndComplete(system.client, undo, system.client.approver);
    expect(existsSync(file)).toBe(false);
  });

  test('an operator’s own capability is refused in another class than its module declares', async () => {
    const folder = join(system.folder, 'other-flags');
    const task = await setFlag(folder, 'class = "idempotent"');
    await approve(system.client, task, system.client.approver);
    const view = await until(`${task.effect} is refused`, async () => {
      const found = await system.client.ask('executor', 'get', { id: task.effect });
      return found.state === 'refused' ? found : undefined;
    });
    expect(view).toMatchObject({
      starts: 0,
      reason: expect.stringContaining('EXECUTOR_CLASS_MISMATCH') as string,
    });
    expect(existsSync(folder)).toBe(false);
  });

  test('an operator’s own capability is listed by the executor, with its arguments', async () => {
    const { items } = await system.client.ask('executor', 'capabilities', { uses: 'cap.custom.set_flag' });
    expect(items).toMatchObject([
      {
        effectClass: 'probeable',
        kind: 'deploy',
        work: false,
        preview: true,
        probe: true,
        compensate: true,
        input: { type: 'object', required: ['folder', 'name', 'value'] },
      },
    ]);
    const all = await system.client.ask('executor', 'capabilities', {});
    expect(all.items.map(({ uses }) => uses)).toContain('cap.env.shell.command.run');
  });
});
