import { readFile } from 'node:fs/promises';
import { IssuedIdentity } from '@holdpoint/contracts/approval/identity';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { TaskView } from '@holdpoint/contracts/task/views';
import { expect } from 'vitest';
import { approve, sampleTask, type SampleTask, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';
import { type Reader, type Effect, taskOf } from './reader.ts';
import { hasPrinted } from './process.ts';

export const expectContext: Effect = async (reader, words) => {
  await reader.enter(words);
  // The documents promise that one setup is enough, so it must work in any folder.
  const { port } = new URL(reader.system.nats.url);
  expect(await reader.enter(['nats', 'rtt'], { cwd: reader.system.folder })).toContain(`:${port}`);
};

/** The body of a printed message. */
const jsonIn = (printed: string): unknown => JSON.parse(/^\{.*\}$/m.exec(printed)?.[0] ?? '');

const taskIds = async ({ system }: Reader): Promise<readonly TaskId[]> =>
  (await system.client.ask('orchestrator', 'list', { limit: 500 })).items.map(({ id }) => id);

/** Fetches an assertion with the token of the operator. */
export const expectIdentified: Effect = async (reader, words) => {
  const { operatorToken } = layout(reader.system.run.credentialsDir);
  reader.fill('token', (await readFile(operatorToken, 'utf8')).trim());
  const issued = IssuedIdentity.parse(jsonIn(await reader.enter(words)));
  expect(issued.name).toBe('operator');
  reader.fill('assertion', issued.assertion);
};

export const expectPublished: Effect = async (reader, words) => {
  const before = new Set(await taskIds(reader));
  await reader.enter(words);
  const id = await until('the published task is there', async () =>
    (await taskIds(reader)).find((each) => !before.has(each)),
  );
  const view = await waitForPhase(reader.system.client, id, 'awaiting_approval');
  const [, , , body = ''] = words;
  expect(view.goal).toBe((JSON.parse(body) as { goal?: unknown }).goal);
  // An assertion proves the requester.
  expect(view.requestedBy).toBe(words.includes('-H') ? 'operator' : 'unverified:unknown');
  reader.fill('task', id);
};

/** Repeats the documented commands that publish a task. */
const publishAgain = async (reader: Reader): Promise<SampleTask> => {
  const publish = reader.documented.find(
    ({ words: [program, verb] }) => program === 'nats' && verb === 'pub',
  );
  if (publish === undefined) throw new Error('no document publishes a task');
  await expectPublished(reader, publish.words);
  return sampleTask(taskOf(reader));
};

/**
 * A subscription may start shortly after its announcement, so the event is produced again until it is
 * shown.
 */
const A_MOMENT_MS = 3_000;
const SUBSCRIBED = 'Subscribing on';

export const expectEveryFact: Effect = async (reader, words) => {
  const subscription = reader.begin(words);
  await hasPrinted(subscription, SUBSCRIBED);
  const task = await until('the events of a published task are printed', async () => {
    const published = await publishAgain(reader);
    await hasPrinted(subscription, `hp.evt.task.submitted.${published.id}`, A_MOMENT_MS);
    return published;
  });
  await approve(reader.system.client, task);
  const { id, approval, effect } = task;
  const events = [
    `approval.requested.${approval}`,
    `approval.resolved.${approval}`,
    `effect.applied.${effect}`,
  ];
  for (const event of [...events, `task.completed.${id}`]) await hasPrinted(subscription, `hp.evt.${event}`);
  await subscription.interrupt();
};

const FACT = /Received on "(?<subject>[^"]+)".*\n(?<headers>(?:[\w-]+: .*\n)*)/g;

const eventsIn = (printed: string): readonly { readonly subject: string; readonly version: number }[] =>
  [...printed.matchAll(FACT)].map(({ groups }) => ({
    subject: groups?.['subject'] ?? '',
    version: Number(/^ce-version: (\d+)$/m.exec(groups?.['headers'] ?? '')?.[1]),
  }));

export const expectFactsOfTask: Effect = async (reader, words) => {
  const { client } = reader.system;
  const task = await publishAgain(reader);
  const subscription = reader.begin(words);
  await hasPrinted(subscription, SUBSCRIBED);
  await until('an event is printed', async () => {
    await client.ask('orchestrator', 'pause', { id: task.id });
    await client.ask('orchestrator', 'resume', { id: task.id });
    return hasPrinted(subscription, `hp.evt.task.changed.${task.id}`, A_MOMENT_MS);
  });
  await approve(client, task);
  await hasPrinted(subscription, `hp.evt.task.completed.${task.id}`);
  // The headers of the last message follow its subject.
  const { version } = await waitForPhase(client, task.id, 'completed');
  await hasPrinted(subscription, `ce-version: ${String(version)}\n`);
  await subscription.interrupt();

  const events = eventsIn(subscription.printed());
  const versions = events.map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  expect(events.at(-1)?.version).toBe(version);
  for (const { subject } of events)
    expect(subject).toMatch(new RegExp(`^hp\\.evt\\.task\\.\\w+\\.${task.id}$`));
};

export const expectPastFacts: Effect = async (reader, words) => {
  const subscription = reader.begin(words);
  for (const event of ['submitted', 'completed'])
    await hasPrinted(subscription, `subject: hp.evt.task.${event}.${reader.valueOf('task')} `);
  await subscription.interrupt();
};

export const expectServices: Effect = async (reader, words) => {
  await until('all services are listed', async () => {
    const printed = await reader.enter(words);
    for (const service of SERVICES) expect(printed).toContain(`holdpoint-${service} `);
    return true;
  });
};

export const expectEndpoints: Effect = async (reader, words) => {
  const service = words.at(-1)?.replace('holdpoint-', '') ?? '';
  expect(SERVICES).toContain(service);
  expect(await reader.enter(words)).toContain(`hp.api.${service}.get`);
};

export const expectTask: Effect = async (reader, words) => {
  const printed = await reader.enter(words);
  const view = TaskView.parse(jsonIn(printed));
  expect(view).toEqual(await reader.system.client.ask('orchestrator', 'get', { id: taskOf(reader) }));
};
