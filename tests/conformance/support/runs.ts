import { setTimeout as sleep } from 'node:timers/promises';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { expect } from 'vitest';
import { z } from 'zod';
import { Hopeless, until } from '../../kit/until.ts';
import type { Repository } from './repository.ts';
import type { Stack } from './stack.ts';

const Enqueued = z.looseObject({
  outcome: z.literal('workflow_run_enqueued'),
  run_id: TaskId,
  workflow_template_selector: z.string(),
  workflow_template_id: z.string(),
  workflow_template_version: z.string(),
  root_job_ids: z.array(z.string()),
  next: z.record(z.string(), z.string()),
});
export type Enqueued = z.infer<typeof Enqueued>;

const Ended = z.looseObject({
  outcome: z.literal('workflow_run_terminal'),
  terminal_state: z.enum(['succeeded', 'failed', 'blocked']),
  exit_code: z.int(),
  run_id: TaskId,
  root_job_ids: z.array(z.string()),
  succeeded: z.array(z.string()),
  failed: z.array(z.string()),
  blocked: z.array(z.string()),
  cancelled: z.array(z.string()),
});
export type Ended = z.infer<typeof Ended>;

/** Runs `holdpoint run`, which must accept the run. */
export const enqueue = async (repository: Repository, ...words: readonly string[]): Promise<Enqueued> => {
  const { code, out, err } = await repository.holdpoint('run', ...words, '--format', 'json');
  expect(code, `${out}${err}`).toBe(0);
  return Enqueued.parse(JSON.parse(out));
};

/** Runs `holdpoint run --follow` and returns its last output with the exit code. */
export const follow = async (
  repository: Repository,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly ended: Ended; readonly text: string }> => {
  const { code, out, err } = await repository.holdpoint('run', ...words, '--follow', '--format', 'json');
  const text = `${out}${err}`;
  expect(out, text).toContain('workflow_run_terminal');
  return { code, ended: Ended.parse(JSON.parse(out)), text };
};

let runs = 0;

/** A run id that a test knows before the submission. */
export const newRun = (): TaskId => {
  runs += 1;
  return TaskId.parse(`t-${String(process.pid)}-${String(runs)}`);
};

export const viewOf = ({ system }: Stack, run: string): Promise<TaskView> =>
  system.client.ask('orchestrator', 'get', { id: TaskId.parse(run) });

export const nodeOf = (view: TaskView, node: string): NodeView => {
  const found = view.nodes.find(({ id }) => id === node);
  if (found === undefined) throw new Hopeless(`run ${view.id} has no node ${node}`);
  return found;
};

/** The status of every job. */
export const jobsOf = ({ nodes }: TaskView): Readonly<Record<string, string>> =>
  Object.fromEntries(nodes.map(({ id, job }) => [id, job]));

/** Many tests poll in parallel, and the services have limited time for them. */
const LOOK_EVERY_MS = 100;

/** Waits for a state of a run; throws if the run ends before. */
export const untilRun = (
  stack: Stack,
  run: string,
  what: string,
  isSo: (view: TaskView) => boolean,
): Promise<TaskView> =>
  until(`run ${run}: ${what}`, async () => {
    const view = await viewOf(stack, run);
    if (isSo(view)) return view;
    if (isEndPhase(view.phase))
      throw new Hopeless(`run ${run} ended before ${what}: ${JSON.stringify(view)}`);
    await sleep(LOOK_EVERY_MS);
    return undefined;
  });

/** Waits for a status of a job. */
export const untilJob = (stack: Stack, run: string, node: string, status: string): Promise<TaskView> =>
  untilRun(stack, run, `${node} is ${status}`, (view) => nodeOf(view, node).job === status);

export const untilEnded = (stack: Stack, run: string): Promise<TaskView> =>
  untilRun(stack, run, 'has ended', ({ phase }) => isEndPhase(phase));

type Submitted = Extract<TaskEvent, { readonly type: 'submitted' }>;

/** The submitted run from its first event. */
export const submissionOf = async ({ system }: Stack, run: string): Promise<Submitted> => {
  const { events } = await system.client.ask('orchestrator', 'history', { id: TaskId.parse(run) });
  const event = TaskEvent.parse(events[0]?.data);
  if (event.type !== 'submitted') throw new Hopeless(`run ${run} begins with ${event.type}`);
  return event;
};

export const definitionOf = async (stack: Stack, run: string): Promise<WorkflowDefinition> =>
  (await submissionOf(stack, run)).definition;
