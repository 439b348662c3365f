import type { TaskId } from '@holdpoint/contracts/ids';
import { SERVICES } from '@holdpoint/contracts/subjects';
import { TaskView } from '@holdpoint/contracts/task';
import { expect } from 'vitest';
import { approve, sampleTask, waitForPhase } from '../harness/tasks.ts';
import { until } from '../harness/until.ts';
import { type Desk, type Effect, taskOf } from './readme-desk.ts';
import { hasPrinted } from './readme-process.ts';

export const expectContext: Effect = async (desk, words) => {
  await desk.enter(words);
  // It is said to be set up once: it has to hold in any folder.
  expect(await desk.enter(['nats', 'rtt'], { cwd: desk.system.folder })).toContain(desk.system.nats.url);
};

const taskIds = async ({ system }: Desk): Promise<readonly TaskId[]> =>
  (await system.client.ask('orchestrator', 'list', { limit: 500 })).items.map(({ id }) => id);

export const expectPublished: Effect = async (desk, words) => {
  const before = new Set(await taskIds(desk));
  await desk.enter(words);
  const id = await until('the published task is there', async () =>
    (await taskIds(desk)).find((each) => !before.has(each)),
  );
  const view = await waitForPhase(desk.system.client, id, 'awaiting_approval');
  expect(view.goal).toBe((JSON.parse(words.at(-1) ?? '') as { goal?: unknown }).goal);
  desk.fill('task', id);
};

/** A subscription may be a moment behind the words that announce it: what it has to show is done again until it does. */
const A_MOMENT_MS = 3_000;
const SUBSCRIBED = 'Subscribing on';

export const expectEveryFact: Effect = async (desk, words) => {
  const publish = desk.documented.find(({ words: each }) => each[1] === 'pub')?.words ?? [];
  const subscription = desk.begin(words);
  await hasPrinted(subscription, SUBSCRIBED);
  const task = await until('the facts of a published task are printed', async () => {
    await expectPublished(desk, publish);
    await hasPrinted(subscription, `hp.evt.task.submitted.${desk.valueOf('task')}`, A_MOMENT_MS);
    return sampleTask(taskOf(desk));
  });
  await hasPrinted(subscription, `hp.evt.task.approval_requested.${task.id}`);
  await hasPrinted(subscription, `hp.evt.approval.requested.${task.approval}`);
  await approve(desk.system.client, task);
  for (const fact of [
    `approval.resolved.${task.approval}`,
    `effect.applied.${task.effect}`,
    `task.completed.${task.id}`,
  ])
    await hasPrinted(subscription, `hp.evt.${fact}`);
  await subscription.interrupt();
};

const FACT = /Received on "(?<subject>[^"]+)".*\n(?<headers>(?:[\w-]+: .*\n)*)/g;

const factsIn = (printed: string): readonly { readonly subject: string; readonly version: number }[] =>
  [...printed.matchAll(FACT)].map(({ groups }) => ({
    subject: groups?.['subject'] ?? '',
    version: Number(/^ce-version: (\d+)$/m.exec(groups?.['headers'] ?? '')?.[1]),
  }));

export const expectFactsOfTask: Effect = async (desk, words) => {
  const { client } = desk.system;
  const publish = desk.documented.find(({ words: each }) => each[1] === 'pub')?.words ?? [];
  await expectPublished(desk, publish);
  const task = sampleTask(taskOf(desk));
  const subscription = desk.begin(words);
  await hasPrinted(subscription, SUBSCRIBED);
  await until('a fact is printed', async () => {
    await client.ask('orchestrator', 'pause', { id: task.id });
    await client.ask('orchestrator', 'resume', { id: task.id });
    return hasPrinted(subscription, `hp.evt.task.resumed.${task.id}`, A_MOMENT_MS);
  });
  await approve(client, task);
  await hasPrinted(subscription, `hp.evt.task.completed.${task.id}`);
  // The headers of the last one come after its subject.
  const { version } = await waitForPhase(client, task.id, 'completed');
  await hasPrinted(subscription, `ce-version: ${String(version)}\n`);
  await subscription.interrupt();

  const facts = factsIn(subscription.printed());
  const first = facts[0]?.version ?? Number.NaN;
  expect(facts.map(({ version }) => version)).toEqual(facts.map((_, i) => first + i));
  expect(facts.at(-1)?.version).toBe(version);
  for (const { subject } of facts)
    expect(subject).toMatch(new RegExp(`^hp\\.evt\\.task\\.\\w+\\.${task.id}$`));
};

export const expectPastFacts: Effect = async (desk, words) => {
  const printed = await desk.enterOnTerminal(words);
  expect(printed).toContain(`Subject: hp.evt.task.submitted.${desk.valueOf('task')} `);
  expect(printed).toContain(`Subject: hp.evt.task.completed.${desk.valueOf('task')} `);
};

export const expectServices: Effect = async (desk, words) => {
  await until('all services are listed', async () => {
    const printed = await desk.enter(words);
    for (const service of SERVICES) expect(printed).toContain(`holdpoint-${service} `);
    return true;
  });
};

export const expectEndpoints: Effect = async (desk, words) => {
  const service = words.at(-1)?.replace('holdpoint-', '') ?? '';
  expect(SERVICES).toContain(service);
  expect(await desk.enter(words)).toMatch(`hp.api.${service}.get`);
};

export const expectTask: Effect = async (desk, words) => {
  const printed = await desk.enter(words);
  const view = TaskView.parse(JSON.parse(/^\{.*\}$/m.exec(printed)?.[0] ?? ''));
  expect(view).toEqual(await desk.system.client.ask('orchestrator', 'get', { id: taskOf(desk) }));
};

