import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { signedHeaders } from '@holdpoint/executor/capabilities/notify/signature';
import { httpTarget, type Target } from '@holdpoint/executor/testing/http-target';
import { compileTemplate, loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approve, newTaskId, type SampleTask, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const TOKEN = 'open-sesame-open-sesame';

let system: System;
let target: Target;
/** The answers of the target, in order; 200 after the last one. */
let answers: number[] = [];
beforeAll(async () => {
  system = await createSystem();
  target = await httpTarget((response) => void response.writeHead(answers.shift() ?? 200).end('ok'));
  const folder = join(system.folder, 'secrets');
  await mkdir(folder);
  const files = { KEY, TOKEN, HOOK: `${target.origin}/hooks/${TOKEN}` };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
  const from = (name: string) => ({ file: join(folder, name), for: [target.origin] });
  const table = join(folder, 'secrets.json');
  await writeFile(
    table,
    JSON.stringify({ secrets: { KEY: from('KEY'), TOKEN: from('TOKEN'), HOOK: from('HOOK') } }),
  );
  const settings = {
    HOLDPOINT_SECRETS_FILE: table,
    HOLDPOINT_HTTP_IDEMPOTENT_TARGETS: target.origin,
    HOLDPOINT_NOTIFY_TARGETS: target.origin,
  };
  await Promise.all(SERVICES.map((service) => system.start(service, service === 'executor' ? settings : {})));
});
beforeEach(() => {
  answers = [];
});
afterAll(async () => {
  await target.stop();
  await system.stop();
});

const flowOf = (uses: string, kind: string, args: Readonly<Record<string, Json>>): string => `
id = "outside"
version = "1"
[[nodes]]
id = "act"
uses = "${uses}"
[nodes.args]
${Object.entries(args)
  .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  .join('\n')}
[nodes.effect]
side_effect_kind = "${kind}"
idempotency_key = "act"
target = "outside"
`;

const compiled = (text: string): WorkflowDefinition => {
  const { template, problems } = loadTemplate('flow.toml', () => text);
  if (template === undefined) throw new Error(JSON.stringify(problems));
  const made = compileTemplate(template, { set: {}, named: {}, positional: [], agentFor: () => undefined });
  if (made.definition === undefined) throw new Error(JSON.stringify(made.problems));
  return made.definition;
};

const ACT = 'act' as NodeId;

/** A task with one effect, from a template of a user. */
const submit = async (
  uses: string,
  kind: string,
  args: Readonly<Record<string, Json>>,
): Promise<SampleTask> => {
  const id = newTaskId();
  const task = { id, line: '', approval: approvalIdOf(id, ACT, 1), effect: effectIdOf(id, ACT, 'act') };
  const definition = compiled(flowOf(uses, kind, args));
  await until(`task ${id} is taken`, () =>
    system.client.ask('orchestrator', 'submit', { id, workflow: 'outside', goal: 'tell them', definition }),
  );
  return task;
};

const carriedOut = async (task: SampleTask) => {
  await approve(system.client, task);
  const { nodes } = await waitForPhase(system.client, task.id, 'completed');
  return nodes.find(({ id }) => id === ACT)?.outputs;
};

/** All public data of a task. */
const toldOf = async ({ id, effect, approval }: SampleTask): Promise<string> =>
  JSON.stringify(
    await Promise.all([
      system.client.ask('orchestrator', 'get', { id }),
      system.client.ask('orchestrator', 'history', { id }),
      system.client.ask('executor', 'get', { id: effect }),
      system.client.ask('approvals', 'get', { id: approval }),
    ]),
  );

const receivedFor = ({ effect }: SampleTask) =>
  target.received.filter(({ headers }) =>
    [headers['webhook-id'], headers['holdpoint-effect']].includes(effect),
  );

describe('a webhook', () => {
  test('an in-doubt webhook is repeated under the same id with a new signature, and its secret stays hidden', async () => {
    answers = [503];
    const task = await submit('cap.notify.webhook', 'notify', {
      url: `${target.origin}/in`,
      secrets: ['${secret:KEY}'],
      type: 'invoice.paid',
      data: 'seven',
    });
    expect(await carriedOut(task)).toEqual({ id: task.effect, status: 200 });
    const received = receivedFor(task);
    expect(received).toHaveLength(2);
    for (const { headers, body } of received) {
      const signed = { id: task.effect, timestamp: Number(headers['webhook-timestamp']), body };
      expect(headers).toMatchObject(signedHeaders(signed, [KEY]));
    }
    expect(await toldOf(task)).not.toContain(KEY);
  });
});

describe('a notification', () => {
  test.each([
    ['cap.notify.discord', { content: 'done' }],
    ['cap.notify.slack', { text: 'done' }],
  ])('a notification by %s goes to its secret URL, which stays hidden', async (uses, args) => {
    const before = target.received.length;
    const task = await submit(uses, 'notify', { webhook: '${secret:HOOK}', origin: target.origin, ...args });
    expect(await carriedOut(task)).toEqual({ status: 200 });
    expect(target.received.slice(before).map(({ path }) => path?.split('?')[0])).toEqual([`/hooks/${TOKEN}`]);
    expect(await toldOf(task)).not.toContain(TOKEN);
  });
});

test('an idempotent in-doubt request is repeated, and its credentials stay hidden', async () => {
  answers = [502];
  const task = await submit('cap.http.idempotent_request', 'write_external', {
    method: 'PUT',
    url: `${target.origin}/flags/sale`,
    body: 'on ${secret:TOKEN}',
  });
  expect(await carriedOut(task)).toMatchObject({ status: 200, body: 'ok' });
  expect(receivedFor(task).map(({ method, body }) => [method, body])).toEqual([
    ['PUT', `on ${TOKEN}`],
    ['PUT', `on ${TOKEN}`],
  ]);
  expect(await system.client.ask('executor', 'get', { id: task.effect })).toMatchObject({ starts: 2 });
  expect(await toldOf(task)).not.toContain(TOKEN);
});

describe('a file', () => {
  const content = 'one\ntwo\n';

  test('a file is shown before its approval and written exactly as shown', async () => {
    const task = await submit('cap.file.write', 'destructive_edit', { file: 'shown/a.txt', content });
    await waitForPhase(system.client, task.id, 'awaiting_approval');
    const { nodes } = await system.client.ask('orchestrator', 'get', { id: task.id });
    const approval = nodes.find(({ id }) => id === ACT)?.approval;
    expect(approval).toBeDefined();
    const approvalRequest = await waitForRequest(system.client, {
      ...task,
      approval: approval ?? task.approval,
    });
    expect(approvalRequest.effect?.args['preview']).toMatchObject({
      before: null,
      diff: expect.stringContaining('+two') as string,
    });
    const effect = approvalRequest.effectId ?? task.effect;
    await approve(system.client, { ...task, approval: approvalRequest.id, effect }, system.client.approver);
    const done = await waitForPhase(system.client, task.id, 'completed');
    expect(done.nodes.find(({ id }) => id === ACT)?.outputs).toMatchObject({
      before: null,
      bytes: 8,
      written: true,
    });
    expect(await readFile(join(system.workspace, 'shown/a.txt'), 'utf8')).toBe(content);
  });
});
