import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { approvalIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { digestOf } from '@holdpoint/contracts/values/json';
import { defaultGate } from '@holdpoint/workflows/files/gate-source';
import { api } from '@holdpoint/contracts/catalog/api';
import { AGGREGATES, filters, SERVICES, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { TaskChanged } from '@holdpoint/contracts/task/changed';
import { Svcm } from '@nats-io/services';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandLine } from '../../kit/command-line.ts';
import { recordTraffic } from '../../kit/bus/recorded-traffic.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approveAndComplete,
  newTaskId,
  sampleTask,
  submitSample,
  waitForPhase,
  waitForRequest,
} from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
let services: Readonly<Record<ServiceName, ServiceInProcess>>;
beforeAll(async () => {
  system = await createSystem({ almightyMonitor: true });
  services = await system.startAll();
});
afterAll(() => system.stop());

const APPEND = NodeId.parse('append');
/** A workflow with one effect, on a file. */
const appending = (file: string, approvalTimeoutMs = 300_000): WorkflowDefinition => ({
  id: 'appending',
  version: '1',
  nodes: [
    {
      id: APPEND,
      uses: 'cap.file.append',
      after: [],
      args: { file, line: 'x' },
      effect: {
        kind: 'write_external',
        effectClass: 'keyed',
        idempotencyKey: 'append',
        target: 'file:any',
        pool: DEFAULT_POOL,
        audience: ['operators'],
        approvalTimeoutMs,
      },
    },
  ],
});

describe('a gated task', () => {
  test('a gated task waits at its gate, is approved, runs once and completes', async () => {
    const { client, workspace } = system;
    const task = await submitSample(client);
    const request = await waitForRequest(client, task);
    expect(request).toMatchObject({
      status: 'pending',
      task: task.id,
      effect: { args: { line: task.line } },
    });
    expect((await waitForPhase(client, task.id, 'awaiting_approval')).nodes).toMatchObject([
      { id: 'prepare', status: 'succeeded' },
      { id: 'append', status: 'awaiting_approval', approval: task.approval },
      { id: 'done', status: 'idle' },
    ]);
    expect((await appliedByKey(workspace)).has(task.effect)).toBe(false);

    const view = await approveAndComplete(client, task);
    expect(view.nodes.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect((await appliedByKey(workspace)).get(task.effect)).toBe(1);
    expect(await client.ask('executor', 'get', { id: task.effect })).toMatchObject({
      state: 'applied',
      digest: request.digest,
      starts: 1,
    });
  });

  test('an effect on an absolute path makes no request and is not retried', async () => {
    const { client } = system;
    const { id } = await client.ask('orchestrator', 'submit', {
      id: newTaskId(),
      workflow: 'outside',
      goal: 'append outside',
      inputs: { file: '/etc/passwd' },
      definition: appending('{{ inputs.file }}'),
    });
    const { nodes, error } = await waitForPhase(client, id, 'failed');
    expect(nodes).toMatchObject([{ status: 'failed', attempt: 1 }]);
    expect(error).toMatchObject({
      code: 'EXECUTOR_INVALID_ARGUMENTS',
      message: expect.stringContaining('HOLDPOINT_WORKSPACE of the executor') as string,
    });
    const { events } = await client.ask('orchestrator', 'history', { id });
    expect(events.map(({ type }) => type)).not.toContain('approval_requested');
    expect((await client.ask('executor', 'list', { task: id })).items).toEqual([]);
    const written = client.ask('orchestrator', 'submit', {
      id: newTaskId(),
      workflow: 'outside',
      goal: 'append outside',
      definition: appending('/etc/passwd'),
    });
    await expect(written).rejects.toMatchObject({
      code: 'ORCHESTRATOR_WORKFLOW_INVALID',
      message: expect.stringContaining('HOLDPOINT_WORKSPACE of the executor') as string,
    });
  });

  test('an expired request pauses its task, and the printed command makes a new request', async () => {
    const { client } = system;
    const { id } = await client.ask('orchestrator', 'submit', {
      id: newTaskId(),
      workflow: 'appending',
      goal: 'append in time',
      definition: appending('expired.txt', 1_000),
    });
    await waitForPhase(client, id, 'paused');
    expect(await client.ask('approvals', 'get', { id: approvalIdOf(id, APPEND, 1) })).toMatchObject({
      status: 'expired',
    });
    const holdpoint = commandLine(system);
    const { out, err } = await holdpoint('task', 'watch', id);
    const [, job = '', answer = ''] = /holdpoint recovery resolve (\S+) (retry)\b/.exec(`${out}${err}`) ?? [];
    expect(out).toContain('append: expired: no decision within 1 second\n');
    expect(await holdpoint('recovery', 'resolve', job, answer)).toMatchObject({ code: 0 });
    const request = await until('there is a new request', () =>
      client.ask('approvals', 'get', { id: approvalIdOf(id, APPEND, 2) }),
    );
    expect(request).toMatchObject({ task: id, node: APPEND });
    const { events } = await client.ask('orchestrator', 'history', { id });
    expect(events.filter(({ type }) => type === 'approval_requested')).toHaveLength(2);
  });

  test('the messages about a gated task are CloudEvents with the versions and the trace of its submission', async () => {
    const { client } = system;
    const task = sampleTask(newTaskId());
    const facts: Record<string, string>[] = [];
    client.connection.subscribe(filters.events, {
      callback: (_error, msg) => {
        const names = msg.headers?.keys() ?? [];
        const about = msg.json<{ id: string; task?: string }>();
        if (![about.id, about.task].includes(task.id)) return;
        facts.push({
          ...Object.fromEntries(names.map((name) => [name, msg.headers?.get(name) ?? ''])),
          on: msg.subject,
        });
      },
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const traced = headers();
    traced.set('traceparent', traceparent);
    const body = { id: task.id, workflow: 'sample', goal: 'be traced', inputs: { line: task.line } };
    await client.connection.request(subjects.api('orchestrator', 'submit'), JSON.stringify(body), {
      headers: traced,
      timeout: 5_000,
    });
    const { digest } = await waitForRequest(client, task);
    const decision = headers();
    decision.set('traceparent', traceparent);
    decision.set('authorization', `Bearer ${client.token}`);
    const approve = JSON.stringify({ id: task.approval, digest, decision: 'approve' });
    await client.connection.request(subjects.api('approvals', 'decide'), approve, {
      headers: decision,
      timeout: 5_000,
    });
    await untilTrue('the end arrives', () =>
      facts.some(({ on }) => on === subjects.event('task', 'completed', task.id)),
    );

    for (const event of facts) {
      expect(event).toMatchObject({
        'ce-specversion': '1.0',
        'content-type': 'application/json',
        traceparent,
      });
      expect(event['ce-id']).toBe(event['Nats-Msg-Id']);
    }
    for (const service of SERVICES.filter((each) => each !== 'recovery')) {
      const own = facts.filter((event) => event['ce-source'] === `/holdpoint/${service}`);
      const versions = own.map((event) => Number(event['ce-version'])).toSorted((a, b) => a - b);
      expect(new Set(versions).size).toBe(own.length);
      const type = new RegExp(`^dev\\.holdpoint\\.${AGGREGATES[service]}\\.[a-z_]+\\.v1$`);
      for (const event of own) expect(event['ce-type']).toMatch(type);
    }
  });

  test('a gated task puts ten messages on the bus, and the last one about it has its last version', async () => {
    const { client } = system;
    const traffic = await recordTraffic(await system.connect('monitor'));
    const task = await submitSample(client);
    await waitForRequest(client, task);
    const { version } = await approveAndComplete(client, task);
    const ids = [task.id, task.approval, task.effect] as const;
    const own = () =>
      traffic
        .all()
        .filter(({ subject, body }) => ids.some((id) => subject.endsWith(id) || body.includes(id)));
    await untilTrue('the end arrives', () => own().some(({ subject }) => subject.includes('.completed.')));
    const kinds = own().map(({ subject }) => subject.split('.').slice(1, 4).join(' '));
    expect(kinds.toSorted()).toEqual(
      [
        'evt task submitted',
        'evt task changed',
        'cmd approval request',
        'evt approval requested',
        'evt approval resolved',
        'evt task changed',
        'cmd effect run',
        'evt effect started',
        'evt effect applied',
        'evt task completed',
      ].toSorted(),
    );
    // The history has every event: a follower reads it there.
    const { events } = await client.ask('orchestrator', 'history', { id: task.id });
    expect(events.map((event) => event.version)).toEqual(Array.from({ length: version }, (_, i) => i + 1));
    // The default gate is in the history as well. The message names it by its digest.
    const gate = defaultGate();
    const shared = { gate: digestOf(gate) };
    expect(events[0]?.data).toMatchObject({ type: 'submitted', gate });
    const submitted = own().find(({ subject }) => subject.includes('.submitted.'))?.body ?? '';
    expect(JSON.parse(submitted)).toMatchObject({ type: 'submitted', shared });
    expect(JSON.parse(submitted)).not.toHaveProperty('gate');
    const changes = own().flatMap(({ subject, body }) =>
      subject.startsWith('hp.evt.task.changed.') ? [TaskChanged.parse(JSON.parse(body))] : [],
    );
    for (const change of changes)
      expect(events[change.version - 1]).toMatchObject({
        type: change.latest,
        data: { phase: change.phase },
      });
  });

  test('a gated task appears in the metrics of every service involved', async () => {
    const { client } = system;
    await approveAndComplete(client, await submitSample(client));
    for (const service of SERVICES.filter((each) => each !== 'recovery')) {
      const answer = await fetch(`http://127.0.0.1:${String(services[service].httpPort)}/metrics`);
      const events = /^holdpoint_events_total\{[^}]*\} (\d+)$/m.exec(await answer.text())?.[1];
      expect([service, Number(events)]).toEqual([service, expect.toSatisfy((n: number) => n > 0)]);
    }
  });
});

test('service discovery on the bus lists the services with their endpoints', async () => {
  const found: Record<string, readonly string[]> = {};
  const client = new Svcm(system.client.connection).client({
    strategy: 'count',
    maxMessages: SERVICES.length,
    maxWait: 10_000,
  });
  for await (const { name, endpoints = [] } of await client.info())
    found[name] = endpoints.map((each) => each.subject).toSorted();
  expect(Object.keys(found).toSorted()).toEqual(SERVICES.map((service) => `holdpoint-${service}`).toSorted());
  expect(found['holdpoint-approvals']).toEqual(
    Object.keys(api.approvals)
      .toSorted()
      .map((name) => subjects.api('approvals', name)),
  );
});
