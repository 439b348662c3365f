import { execFile } from 'node:child_process';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { EffectEvent } from '@holdpoint/contracts/effect/events';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { System } from '../stack/system.ts';
import { approve, newTaskId, type SampleTask } from '../tasks/tasks.ts';
import { Hopeless, until, untilTrue } from '../until.ts';
import { targetsOf, type Witness } from './counted-target.ts';

/**
 * The help of the counter after a lost answer: none, idempotency keys, a status query, or none because a
 * repeat is safe.
 */
export const COUNTED = ['opaque', 'keyed', 'probeable', 'work'] as const;
export type Counted = (typeof COUNTED)[number];

/** A system whose effects go to the counter. */
export type CountedSystem = System & {
  readonly witness: Witness;
  /** The settings of every executor. */
  readonly executorEnv: Readonly<Record<string, string>>;
  readonly repository: string;
};

export type CountedTask = SampleTask & { readonly of: Counted; readonly key: string };

const REQUEST = 'request' as NodeId;
const PLACES = ['prepare', 'request', 'done'] as const;

/**
 * The commands that ask the counter for one application, and whether there was one (exit code 0 for yes, 1
 * for no).
 */
const SEND = `const [url, key] = process.argv.slice(2);
const answer = await fetch(url, { method: 'POST', body: 'once', headers: { 'idempotency-key': key } });
process.exit(answer.ok ? 0 : 9);
`;
const ASK = `const [origin, key] = process.argv.slice(2);
const answer = await fetch(origin + '/probeable?key=' + encodeURIComponent(key));
process.exit(answer.status !== 200 ? 9 : (await answer.json()).applied ? 0 : 1);
`;

export const withCounter = async (system: System, witness: Witness): Promise<CountedSystem> => {
  const folder = join(await realpath(system.folder), 'repositories');
  const repository = join(folder, 'app');
  await mkdir(repository, { recursive: true });
  await promisify(execFile)('git', ['init', '--quiet', '--initial-branch=main', repository]);
  await writeFile(join(repository, 'send.mjs'), SEND);
  await writeFile(join(repository, 'ask.mjs'), ASK);
  return {
    ...system,
    witness,
    repository,
    executorEnv: {
      ...targetsOf(witness),
      HOLDPOINT_REPOSITORIES: folder,
      // Work asks the counter too.
      HOLDPOINT_WORK_NETWORK: 'on',
    },
  };
};

const taskOf = (of: Counted): CountedTask => {
  const id = newTaskId();
  const effect = effectIdOf(id, REQUEST, of === 'work' ? 'attempt:1:run' : 'request');
  return { id, of, line: '', approval: approvalIdOf(id, REQUEST, 1), effect, key: effect };
};

const command = (...words: readonly string[]): string =>
  [process.execPath, ...words].map((word) => `'${word}'`).join(' ');

/** One command that sends, between two empty nodes: as work, or as an effect with a status query. */
const scripted = ({ of, key }: CountedTask, { origin }: Witness): WorkflowDefinition => {
  const node = (at: number): NodeDefinition => ({
    id: PLACES[at] as NodeId,
    uses: at === 0 ? 'control.prepare' : 'control.terminal',
    after: at === 0 ? [] : [PLACES[at - 1] as NodeId],
    args: {},
  });
  const flavour = of === 'work' ? 'idempotent' : 'probeable';
  const script: NodeDefinition = {
    ...node(1),
    uses: 'cap.env.shell.command.run',
    args: { command: command('send.mjs', `${origin}/${flavour}/once`, key) },
    ...(of === 'probeable' && {
      effect: {
        kind: 'write_external',
        effectClass: 'probeable',
        idempotencyKey: 'request',
        target: origin,
        pool: DEFAULT_POOL,
        audience: ['operators'],
        approvalTimeoutMs: 5 * 60_000,
        probe: command('ask.mjs', origin, key),
      },
    }),
  };
  return { id: 'counted', version: '1', nodes: [node(0), script, node(2)] };
};

const submissionOf = (task: CountedTask, { witness, repository }: CountedSystem) => {
  const about = { id: task.id, goal: 'be counted' };
  if (task.of === 'opaque' || task.of === 'keyed') {
    const inputs: JsonObject = { url: `${witness.origin}/${task.of}/once`, keyed: task.of === 'keyed' };
    return { ...about, workflow: 'http', inputs };
  }
  return { ...about, workflow: 'counted', definition: scripted(task, witness), repository };
};

export const submitCounted = async (system: CountedSystem, of: Counted): Promise<CountedTask> => {
  const task = taskOf(of);
  const submission = submissionOf(task, system);
  await until(`task ${task.id} is taken`, () => system.client.ask('orchestrator', 'submit', submission));
  return task;
};

/** A task whose effect may run as soon as it is ordered. */
export const order = async (system: CountedSystem, of: Counted): Promise<CountedTask> => {
  const task = await submitCounted(system, of);
  if (of !== 'work') await approve(system.client, task);
  return task;
};

const WAITS: ReadonlySet<string> = new Set(['paused', 'awaiting_approval']);
const OVER: ReadonlySet<string> = new Set(['failed', 'cancelled']);

/** Whether there is a question about the in-doubt effect. */
const isAsked = async ({ client }: System, { effect }: CountedTask): Promise<boolean> => {
  const { items } = await client.ask('approvals', 'list', { status: 'pending' });
  return items.some(({ effectId, inDoubt: doubt }) => effectId === effect && doubt !== undefined);
};

/**
 * The end of a task without help: it completes, or a person is asked about its effect. Any other end is an
 * error.
 */
export const endOf = (system: CountedSystem, task: CountedTask): Promise<'completed' | 'asks'> =>
  until(`task ${task.id} completes, or asks a person`, async () => {
    const view = await system.client.ask('orchestrator', 'get', { id: task.id });
    if (view.phase === 'completed') return 'completed';
    if (OVER.has(view.phase)) throw new Hopeless(`task ${task.id} is ${view.phase}: ${JSON.stringify(view)}`);
    return WAITS.has(view.phase) && (await isAsked(system, task)) ? 'asks' : undefined;
  });

/** The ledger state of an effect, repeated until there is an answer. */
export const stateOf = ({ client }: System, { effect }: Pick<CountedTask, 'effect'>): Promise<string> =>
  until(
    `the ledger knows ${effect}`,
    async () => (await client.ask('executor', 'get', { id: effect })).state,
  );

/** The ledger events of an effect. */
export const ledgerOf = async (
  { database }: System,
  { effect }: Pick<CountedTask, 'effect'>,
): Promise<EffectEvent[]> => {
  const sql = 'SELECT data FROM executor.events WHERE aggregate = $1 ORDER BY version';
  const { rows } = await withAdmin(database.admin, (client) =>
    client.query<{ data: unknown }>(sql, [effect]),
  );
  return rows.map(({ data }) => EffectEvent.parse(data));
};

/** Waits for an event of an effect in the ledger; the bus is not used. */
export const untilInLedger = (system: System, task: CountedTask, type: EffectEvent['type']) =>
  untilTrue(`${task.effect} is ${type}`, async () =>
    (await ledgerOf(system, task)).some((event) => event.type === type),
  );

/** The open question about an effect. */
const questionOf = ({ client }: System, { effect }: CountedTask) =>
  until(`there is a question about ${effect}`, async () => {
    const { items } = await client.ask('approvals', 'list', { status: 'pending' });
    return items.find(({ effectId, inDoubt: doubt }) => effectId === effect && doubt !== undefined);
  });

/** Answers the question about the effect, repeated until the answer is accepted. */
export const answer = async (system: System, task: CountedTask, said: InDoubtAnswer): Promise<void> => {
  const { id } = await questionOf(system, task);
  await until(`${id} is answered`, () => system.client.ask('approvals', 'decide', { id, decision: said }));
};
