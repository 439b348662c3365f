import { setTimeout as sleep } from 'node:timers/promises';
import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { ApprovalId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { approvalIdOf } from '@holdpoint/contracts/values/ids';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { type Client, Refusal } from '../../kit/bus/client.ts';
import { newTaskId } from '../../kit/tasks/tasks.ts';
import { Hopeless, until } from '../../kit/until.ts';

/** A task whose effect appends its line to a file of the pool `default`, or sends one request from the pool `web`. */
export type LoadTask = {
  readonly id: TaskId;
  readonly approval: ApprovalId;
  /** The text that the effect leaves: a line or a path. */
  readonly mark: string;
};

/** Long enough for every fault of a run: calls are repeated until the services are back. */
const PATIENCE_MS = 10 * 60_000;

const unlessRefused = (error: unknown): never => {
  if (error instanceof Refusal && error.status !== 503 && error.code !== 'APPROVALS_UNKNOWN')
    throw new Hopeless(error.message, { cause: error });
  throw error;
};

const node = (id: string): NodeId => id as NodeId;

const requestFrom = (pool: string, origin: string, path: string): WorkflowDefinition => ({
  id: 'counted',
  version: '1',
  nodes: [
    { id: node('prepare'), uses: 'control.prepare', after: [], args: {} },
    {
      id: node('request'),
      uses: 'cap.http.keyed_request',
      after: [node('prepare')],
      args: { url: `${origin}${path}`, method: 'POST', body: {} },
      effect: {
        kind: 'write_external',
        effectClass: 'keyed',
        idempotencyKey: 'request',
        target: origin,
        pool,
        audience: ['operators'],
        approvalTimeoutMs: DECISION_MS,
      },
    },
    { id: node('done'), uses: 'control.terminal', after: [node('request')], args: {} },
  ],
});

const FILE = 'cluster.txt';
export const FILE_PATH = `/workspace/${FILE}`;

const submit = async (client: Client, origin: string | undefined): Promise<LoadTask> => {
  const id = newTaskId();
  const mark = origin === undefined ? `line of ${id}` : `/${id}`;
  await until(
    `task ${id} is accepted`,
    () =>
      client
        .ask('orchestrator', 'submit', {
          id,
          goal: `count ${id} once`,
          ...(origin === undefined
            ? { workflow: 'sample', inputs: { file: FILE, line: mark } }
            : { workflow: 'counted', definition: requestFrom('web', origin, mark) }),
        })
        .catch(unlessRefused),
    PATIENCE_MS,
  );
  return { id, mark, approval: approvalIdOf(id, node(origin === undefined ? 'append' : 'request'), 1) };
};

/** Reads the request first, as a person does. */
const approve = async (client: Client, { approval: id }: LoadTask): Promise<void> => {
  await until(
    `${id} is approved`,
    async () => {
      const { digest } = await client.ask('approvals', 'get', { id }).catch(unlessRefused);
      return client.ask('approvals', 'decide', { id, decision: 'approve', digest }).catch(unlessRefused);
    },
    PATIENCE_MS,
  );
};

/** The end of a task, with the reason if it is not completed. */
const end = ({ ask }: Client, { id }: LoadTask): Promise<string> =>
  until(
    `task ${id} ends`,
    async () => {
      const view = await ask('orchestrator', 'get', { id }).catch(unlessRefused);
      if (view.phase === 'completed') return 'completed';
      return isEndPhase(view.phase) ? JSON.stringify(view) : undefined;
    },
    PATIENCE_MS,
  );

export type Load = {
  readonly files: readonly LoadTask[];
  readonly requests: readonly LoadTask[];
  /** Every end but `completed`, with its explanation. */
  readonly ends: readonly string[];
};

/** Submits and approves tasks at a rate, and waits for the end of each. */
export const runLoad = async (
  client: Client,
  { count, everyMs, origin }: { readonly count: number; readonly everyMs: number; readonly origin: string },
): Promise<Load> => {
  const one = async (at: number) => {
    await sleep(at * everyMs);
    const byRequest = at % 3 === 2;
    const task = await submit(client, byRequest ? origin : undefined);
    await approve(client, task);
    return { task, byRequest, end: await end(client, task) };
  };
  const all = await Promise.all(Array.from({ length: count }, (_, at) => one(at)));
  return {
    files: all.flatMap(({ task, byRequest }) => (byRequest ? [] : [task])),
    requests: all.flatMap(({ task, byRequest }) => (byRequest ? [task] : [])),
    ends: all.flatMap(({ end: at }) => (at === 'completed' ? [] : [at])),
  };
};
