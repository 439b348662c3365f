import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, newTaskId, sampleTask, type SampleTask } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

let system: System;
let collector: Server;
let processes: readonly ServiceProcess[];
beforeAll(async () => {
  // The collector accepts connections and never answers.
  collector = createServer(() => undefined);
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const silent = `http://127.0.0.1:${String((collector.address() as AddressInfo).port)}`;
  const nobody = 'http://127.0.0.1:9';
  system = await createSystem();
  processes = await Promise.all(
    SERVICES.map((service, i) =>
      system.spawn(service, {
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: i % 2 === 0 ? silent : nobody,
          OTEL_TRACES_SAMPLER: 'parentbased_always_on',
        },
      }),
    ),
  );
  await Promise.all(processes.map((service) => service.started()));
});
afterAll(async () => {
  await system.stop();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});

const submitTraced = async (traceparent: string | undefined): Promise<SampleTask> => {
  const task = sampleTask(newTaskId());
  const sent = headers();
  if (traceparent !== undefined) sent.set('traceparent', traceparent);
  const inputs = { file: 'sample.txt', line: task.line };
  await until('it is taken', async () => {
    const answer = await system.client.connection.request(
      subjects.api('orchestrator', 'submit'),
      JSON.stringify({ id: task.id, workflow: 'sample', goal: 'append a line', inputs }),
      { headers: sent, timeout: 5_000 },
    );
    return answer.json<{ readonly id?: string }>().id;
  });
  return task;
};

/** The events of a task without its id. */
const courseOf = async ({ id }: SampleTask): Promise<readonly string[]> => {
  const { events } = await system.client.ask('orchestrator', 'history', { id });
  return events.map(({ version, data }) => JSON.stringify([version, data['type'], data['phase']]));
};

test('a collector that is away or hangs changes nothing but the visible traces', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const courses: (readonly string[])[] = [];
  for (const traceparent of [
    undefined,
    `00-${trace}-00f067aa0ba902b7-01`,
    `00-${trace}-00f067aa0ba902b7-00`,
    'no trace at all',
  ]) {
    const task = await submitTraced(traceparent);
    await approveAndComplete(system.client, task);
    courses.push(await courseOf(task));
  }
  expect(courses[0]?.at(-1)).toContain('completed');
  expect(courses).toEqual(courses.map(() => courses[0]));
  // It does not delay the stop of the services either.
  const exits = await Promise.all(processes.map((service) => service.stop()));
  expect(exits.map(({ code }) => code)).toEqual(SERVICES.map(() => 0));
});
