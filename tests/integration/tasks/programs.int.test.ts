import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { ask, createClient, defineWorkflow, phasesFor, startWorker, type Worker } from '@holdpoint/sdk';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { publish } from '../../kit/bus/consumers.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const State = z.object({
  topic: z.string(),
  text: z.string().default(''),
  approved: z.boolean().default(false),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

/** A workflow with an agent, a person and an effect. */
const reply = (file: string, thinks: () => Promise<void> = () => Promise.resolve()) =>
  defineWorkflow({
    id: 'reply',
    version: '1',
    build: file,
    state: State,
    initial: 'draft',
    phases: {
      draft: agentPhase({
        run: async (ctx) => {
          await thinks();
          const words = await ctx.step('words', () => `On ${ctx.state.topic}`);
          ctx.update((draft) => void (draft.text = words));
        },
        next: 'review',
      }),
      review: humanPhase({
        input: ask.approval(),
        prompt: (state) => ({ title: `Send "${state.text}"?` }),
        onResponse: (yes, draft) => void (draft.approved = yes),
        next: (state) => (state.approved ? 'publish' : 'dropped'),
      }),
      publish: effectPhase({
        effect: (state) => ({
          kind: 'write_external',
          capability: 'cap.file.append',
          args: { file, line: `${state.text} {{ as it is }}` },
          idempotencyKey: 'publish',
          target: `file:${file}`,
        }),
        next: 'done',
      }),
      done: terminalPhase({ output: (state) => state.text }),
      dropped: terminalPhase({ output: () => 'nothing' }),
    },
  });

let system: System;
let token: string;
let workers: Worker[] = [];

beforeAll(async () => {
  system = await createSystem();
  await system.startAll();
  token = (await readFile(layout(system.run.credentialsDir).operatorToken, 'utf8')).trim();
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
});
afterAll(() => system.stop());

const warnings: string[] = [];
const keepWarnings = ({ level, message }: { readonly level: string; readonly message: string }): void => {
  if (level === 'warn' || level === 'error') warnings.push(message);
};
const startOne = async (
  workflow: ReturnType<typeof reply>,
  options: { readonly parkMs?: number; readonly drainMs?: number } = {},
): Promise<Worker> => {
  const connection = await system.connect('worker');
  const worker = startWorker({
    connection,
    workflows: [workflow],
    signals: false,
    log: keepWarnings,
    ...options,
  });
  workers.push(worker);
  await worker.ready;
  return worker;
};
const createOne = async () => createClient({ connection: await system.connect('operator'), token });

type Handle = Awaited<ReturnType<Awaited<ReturnType<typeof createOne>>['start']>>;
const untilAsked = (handle: Pick<Handle, 'id'>) =>
  until(`${handle.id} asks`, async () => {
    const { items } = await system.client.ask('approvals', 'list', { task: handle.id });
    return items.find(({ input }) => input !== undefined);
  });
/** Approves the effect, whose task has a gate of its own. */
const approveEffect = async (handle: Pick<Handle, 'id'>): Promise<string> => {
  const child = await until('the effect has a task', async () => {
    const { effects = [] } = await system.client.ask('orchestrator', 'get', { id: handle.id });
    return effects[0];
  });
  const approval = await until('its approval is requested', async () => {
    const { items } = await system.client.ask('approvals', 'list', { task: child });
    return items[0];
  });
  await system.client.ask('approvals', 'decide', { id: approval.id, decision: 'approve' });
  return child;
};
const linesOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(join(system.workspace, file), 'utf8')).split('\n').filter((line) => line !== '');

test('a worker that waits for the orchestrator ends with SIGINT', async () => {
  const empty = await createSystem();
  try {
    const connection = await empty.connect('worker');
    const earlier = process.listeners('SIGINT');
    // It warns that it is not registered yet.
    const worker = startWorker({ connection, workflows: [reply('never.txt')], log: () => undefined });
    const added = process.listeners('SIGINT').filter((listener) => !earlier.includes(listener));
    expect(added).toHaveLength(1);
    for (const listener of added) listener('SIGINT');
    await worker.ready;
    await worker.stopped;
    expect(process.listeners('SIGINT')).toEqual(earlier);
  } finally {
    await empty.stop();
  }
});

test('a phase of code, a request and an effect each happen once, and the effect stops at its gate', async () => {
  const workflow = reply('replies.txt');
  await startOne(workflow, { parkMs: 200 });
  const client = await createOne();
  const handle = await client.start(workflow, { topic: 'tea' }, { requestedBy: 'ada' });
  const question = await untilAsked(handle);
  expect(question).toMatchObject({
    title: 'Send "On tea"?',
    input: { kind: 'approval' },
    // The owner of the token, whatever name the client gives.
    requestedBy: 'operator',
  });
  expect((await system.client.ask('orchestrator', 'get', { id: handle.id })).phase).toBe('awaiting_approval');
  await handle.respond(true, { comment: 'go on' });
  const child = await approveEffect(handle);
  expect(await handle.result()).toBe('On tea');
  expect(await linesOf('replies.txt')).toEqual([expect.stringMatching(/\tOn tea \{\{ as it is \}\}$/)]);
  expect(await system.client.ask('orchestrator', 'get', { id: child })).toMatchObject({
    phase: 'completed',
    workflow: 'reply@1',
    requestedBy: 'operator',
  });
  const names: string[] = [];
  for await (const event of handle.events()) names.push(event.name);
  expect(names).toContain('phase:completed');
  // A version that is registered for the first time has no consumer before.
  expect(warnings).toEqual([]);
  expect(names.at(-1)).toBe('workflow:completed');
});

test('a task of a client without a token is requested by the unverified local user', async () => {
  const workflow = reply('unverified.txt');
  await startOne(workflow);
  const client = createClient({ connection: await system.connect('operator') });
  const handle = await client.start(workflow, { topic: 'milk' });
  const { requestedBy } = await untilAsked(handle);
  expect(requestedBy).toBe(`unverified:${userInfo().username.toLowerCase()}`);
  await handle.cancel('enough');
  await expect(handle.result()).rejects.toMatchObject({ name: 'WorkflowCancelled', by: requestedBy });
});

test('a rejected effect does not run', async () => {
  const workflow = reply('refused.txt');
  await startOne(workflow);
  const client = await createOne();
  const handle = await client.start('reply@1', { topic: 'coffee' });
  await untilAsked(handle);
  await handle.respond(false);
  expect(await handle.result()).toBe('nothing');
});

test('a worker that stops gives its work back, and another continues from the recorded results', async () => {
  let calls = 0;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const workflow = reply('handed-on.txt', async () => {
    calls += 1;
    if (calls === 1) await held;
  });
  const first = await startOne(workflow, { drainMs: 100 });
  const client = await createOne();
  const handle = await client.start(workflow, { topic: 'cake' });
  await until('it runs', () => (calls > 0 ? true : undefined));
  await first.stop();
  release();
  await startOne(workflow);
  await untilAsked(handle);
  expect(calls).toBe(2);
  await handle.cancel('enough');
  await expect(handle.result()).rejects.toMatchObject({ name: 'WorkflowCancelled' });
});

test('a task waits for a version without a worker, and its wait names the version', async () => {
  const client = await createOne();
  const handle = await client.start(reply('nobody.txt'), { topic: 'silence' });
  const waits = await until('it is reported', async () => {
    const { nodes } = await system.client.ask('orchestrator', 'get', { id: handle.id });
    return nodes.find(({ wait }) => wait !== undefined)?.wait;
  });
  expect(waits.detail).toMatch(/no worker has claimed the order.*reply@1/);
  await startOne(reply('nobody.txt'));
  await untilAsked(handle);
});

test('a bus command starts a program by name, and a fork continues from its position', async () => {
  const workflow = reply('forked.txt');
  await startOne(workflow);
  const client = await createOne();
  const handle = await client.start('reply', { topic: 'soup' });
  await untilAsked(handle);
  const fork = await handle.fork({ at: 'review' });
  await untilAsked(fork);
  expect(await fork.state()).toMatchObject({ topic: 'soup', text: 'On soup' });
  await fork.respond(false);
  expect(await fork.result()).toBe('nothing');
});

test('a new program of one replica is known to all replicas when a command names it', async () => {
  await system.start('orchestrator');
  const END = 'done' as NodeId;
  // Both replicas read commands, so with many commands each gets some.
  for (let version = 1; version <= 8; version += 1) {
    const program: ProgramDefinition = {
      id: `named-${String(version)}`,
      version: '1',
      code: 'a'.repeat(64),
      initial: END,
      phases: [{ type: 'terminal', id: END, outcome: 'succeeded' }],
    };
    await system.client.ask('orchestrator', 'program_register', { programs: [program] });
    const submission = { id: newTaskId(), workflow: program.id, goal: 'by name' };
    await publish(system.client.connection, subjects.taskCommand('submit'), JSON.stringify(submission));
    await until(`${program.id} is started`, () =>
      system.client.ask('orchestrator', 'get', { id: submission.id }).catch(() => undefined),
    );
  }
});
