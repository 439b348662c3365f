import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { type ReceivedSpan, type SpanReceiver, startSpanReceiver } from '../../kit/bus/span-receiver.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
let receiver: SpanReceiver;
let processes: readonly ServiceProcess[];
beforeAll(async () => {
  receiver = await startSpanReceiver();
  system = await createSystem();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'parentbased_always_on' };
  processes = await Promise.all(SERVICES.map((service) => system.spawn(service, { env })));
  await Promise.all(processes.map((service) => service.started()));
});
afterAll(async () => {
  await system.stop();
  await receiver.stop();
});

const spansOf = (task: string): readonly ReceivedSpan[] =>
  receiver.spans().filter(({ attributes }) => attributes['holdpoint.task'] === task);

/** The spans of a task, once the expected one is among them. */
const untilSeen = (
  task: string,
  what: string,
  isIt: (span: ReceivedSpan) => boolean,
): Promise<readonly ReceivedSpan[]> =>
  until(`${what} of ${task} is in its trace`, () => {
    const spans = spansOf(task);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    // Each service exports on its own: a span may arrive before its parent.
    const isWhole = spans.every(({ parentSpanId }) => !parentSpanId || ids.has(parentSpanId));
    return Promise.resolve(isWhole && spans.some(isIt) ? spans : undefined);
  });
const untilCompleted = (task: string): Promise<readonly ReceivedSpan[]> =>
  untilSeen(task, 'the end', ({ attributes }) => attributes['holdpoint.entered'] === 'completed');

const tracesOf = (spans: readonly ReceivedSpan[]): readonly string[] => [
  ...new Set(spans.map(({ traceId }) => traceId)),
];
const servicesOf = (spans: readonly ReceivedSpan[]): readonly string[] =>
  [...new Set(spans.map(({ service }) => service))].toSorted();

describe('a gated task', () => {
  test('a gated task is one trace from its submission to its completion, through every service involved', async () => {
    const task = await submitSample(system.client);
    await approveAndComplete(system.client, task);
    const spans = await untilCompleted(task.id);
    expect(tracesOf(spans)).toHaveLength(1);
    expect(servicesOf(spans)).toEqual(
      expect.arrayContaining(['holdpoint-approvals', 'holdpoint-executor', 'holdpoint-orchestrator']),
    );
    expect(spans.filter(({ parentSpanId }) => !parentSpanId).map(({ name }) => name)).toEqual([
      'orchestrator submit',
    ]);
    const names = spans.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'approvals request',
        'approvals decide',
        'orchestrator approval',
        'executor run',
        'effect cap.file.append',
        'executor outcome',
        'orchestrator effect',
      ]),
    );
    // No span covers the wait for a person.
    const effect = spans.find(({ name }) => name === 'effect cap.file.append');
    expect(effect?.attributes).toMatchObject({ 'holdpoint.node': 'append', 'holdpoint.outcome': 'applied' });
  });

  test('a task keeps its trace when a decision has another, which is linked', async () => {
    const task = await submitSample(system.client);
    const { digest } = await waitForRequest(system.client, task);
    const own = '4bf92f3577b34da6a3ce929d0e0e4736';
    const decision = headers();
    decision.set('traceparent', `00-${own}-00f067aa0ba902b7-01`);
    decision.set('authorization', `Bearer ${system.client.token}`);
    await system.client.connection.request(
      subjects.api('approvals', 'decide'),
      JSON.stringify({ id: task.approval, digest, decision: 'approve' }),
      { headers: decision, timeout: 5_000 },
    );
    await waitForPhase(system.client, task.id, 'completed');
    const spans = await untilCompleted(task.id);
    expect(tracesOf(spans)).toHaveLength(1);
    expect(tracesOf(spans)).not.toContain(own);
    const decided = spans.find(({ name }) => name === 'approvals decide');
    expect(decided?.links.map(({ traceId }) => traceId)).toEqual([own]);
  });

  test('the trace of a failed task includes recovery', async () => {
    // A file stands in the place of the folder.
    await writeFile(join(system.workspace, 'blocked'), '');
    const task = await submitSample(system.client, 'blocked/sample.txt');
    await waitForRequest(system.client, task);
    await system.client.ask('approvals', 'decide', { id: task.approval, decision: 'approve' });
    const spans = await untilSeen(task.id, 'the verdict', ({ name }) => name === 'orchestrator recover');
    expect(tracesOf(spans)).toHaveLength(1);
    expect(servicesOf(spans)).toEqual(SERVICES.map((service) => `holdpoint-${service}`).toSorted());
    expect(spans.map(({ name }) => name)).toContain('recovery assess');
    const effect = spans.find(({ name }) => name === 'effect cap.file.append');
    expect(effect?.status.message).toBe('failed_clean');
  });
});

test('a message that cannot be handled is logged with its trace', async () => {
  const trace = 'ab'.repeat(16);
  const traced = headers();
  traced.set('traceparent', `00-${trace}-00f067aa0ba902b7-01`);
  system.client.connection.publish(subjects.taskCommand('submit'), 'no JSON', { headers: traced });
  const orchestrator = processes[SERVICES.indexOf('orchestrator')];
  await untilTrue('it arrives', async () =>
    ((await orchestrator?.lines()) ?? []).some(
      (line) => line.msg === 'message goes to the dead letters' && line['trace_id'] === trace,
    ),
  );
});
