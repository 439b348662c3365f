import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { commandIdOf, RepositoryId, type TaskId, taskIdFrom } from '@holdpoint/contracts/values/ids';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import { VALUE_LIMITS } from '@holdpoint/contracts/program/value';
import { programDecider } from '@holdpoint/programs/decide';
import { isProgram } from '@holdpoint/programs/state';
import type { Caller, OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { foldHistory, readAggregate, readHistory, readHistoryPage } from '@holdpoint/runtime/store/read';
import { createObjectStore, type ObjectStore } from '@holdpoint/runtime/store/object-store';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import { evidenceOf, type TaskEvidence } from '@holdpoint/contracts/workflow/review';
import type { Pool } from 'pg';
import { forkAt } from './task/fork.ts';
import type { OperatorCommand } from './task/model/messages.ts';
import { named, nameOf, NO_IDENTITIES, type SenderOf } from './sender.ts';
import { orchestratorKinds, type OrchestratorMessage } from './aggregates.ts';
import { type BuiltInWorkflow, builtIn } from './workflows/catalog.ts';
import { type SubmissionContext, EMPTY_CONTEXT, routedSubmission } from './submission-context.ts';
import { offeredWorkflows } from './queries/offered-workflows.ts';
import { programView } from './queries/program-view.ts';
import { listPrograms, type ProgramRow, registered, registerPrograms } from './queries/programs.ts';
import { listTasks } from './queries/tasks.ts';
import { taskView } from './queries/task-view.ts';

const unknown = (id: string): HoldpointError =>
  new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', `unknown task: ${id}`);

const byHand = <Kind extends OperatorCommand['kind']>(kind: Kind, senderOf: SenderOf) => ({
  command: (
    payload: Extract<OperatorCommand, { readonly kind: Kind }>['payload'],
    { identity, header }: Caller,
  ): Routed<OrchestratorMessage> => {
    const sender = senderOf(kind, header, Date.now());
    return {
      kind: 'task' as const,
      aggregate: payload.id,
      message: {
        kind,
        payload: named(payload, 'by', sender),
        task: payload.id,
        commandId: commandIdOf(kind, identity),
        sender,
      } as OperatorCommand,
    };
  },
});

/** A registry has no task history. */
const historyOf = async (pool: Pool, id: TaskId) => {
  const events = RepositoryId.safeParse(id).success ? [] : await readHistory(pool, id);
  if (events.length === 0) throw unknown(id);
  return events;
};

/** The message that creates a fork of a task. Undefined when the task has no such version. */
const forkOf = (
  history: Awaited<ReturnType<typeof historyOf>>,
  version: number,
  to: { readonly task: TaskId; readonly by: string },
): Routed<OrchestratorMessage> | undefined => {
  const aggregate = to.task;
  if (history[0]?.type !== 'program_submitted') {
    const events = history.map(({ data }) => TaskEvent.parse(data));
    const message = forkAt(events, version, to);
    return message && { kind: 'task', aggregate, message };
  }
  if (history.length < version) return undefined;
  const origin = foldHistory(programDecider, history.slice(0, version));
  return isProgram(origin)
    ? { kind: 'program', aggregate, message: { kind: 'fork_program', origin, version, ...to } }
    : undefined;
};

/** Reviews and artifact of the task that a submission belongs to. Throws for an unknown task, node or attempt. */
const originOf = async (pool: Pool, { onBehalfOf }: SubmitTask): Promise<TaskEvidence | undefined> => {
  if (onBehalfOf === undefined) return undefined;
  const { task, node, attempt } = onBehalfOf;
  const found = await readAggregate(pool, readable, task);
  if (found === undefined || found.kind === 'registry' || found.state.phase === 'absent') throw unknown(task);
  const view = found.kind === 'program' ? programView(found.state) : taskView(found.state);
  if (!view.nodes.some(({ id, attempt: current }) => id === node && current === attempt))
    throw new HoldpointError(
      'ORCHESTRATOR_UNKNOWN_NODE',
      `onBehalfOf: task ${task} has no attempt ${String(attempt)} at node ${node}`,
    );
  return evidenceOf(view) ?? {};
};

/** Large values of programs. */
export const values = (pool: Pool): ObjectStore => createObjectStore(pool, VALUE_LIMITS);

const readable = orchestratorKinds();

/** The chosen id, or one derived from the message, so that a repeat finds the same task. */
export const taskIdOf = (chosen: TaskId | undefined, identity: string): TaskId =>
  chosen ?? taskIdFrom(identity);

export const endpoints = (
  pool: Pool,
  { openCircuits: open, withProgram }: SubmissionContext = EMPTY_CONTEXT,
  register: (programs: readonly ProgramDefinition[]) => Promise<readonly ProgramRow[]> = (programs) =>
    registerPrograms(pool, programs),
  lookUp: (submission: SubmitTask) => Promise<SubmitTask> = (submission) =>
    Promise.resolve(withProgram(submission)),
  workflows: readonly BuiltInWorkflow[] = builtIn,
  senderOf: SenderOf = NO_IDENTITIES,
): OwnEndpoints<'orchestrator', OrchestratorMessage> => ({
  submit: {
    command: async (payload, { identity, header }) => {
      const sender = senderOf('submit', header, Date.now());
      const task = taskIdOf(payload.id, identity);
      const submission = await lookUp(named(payload, 'requestedBy', sender));
      const origin = await originOf(pool, submission);
      return routedSubmission({
        kind: 'submit',
        payload: submission,
        task,
        openCircuits: open(),
        sender,
        ...(origin && { origin }),
      });
    },
  },
  cancel: byHand('cancel', senderOf),
  pause: byHand('pause', senderOf),
  resume: byHand('resume', senderOf),
  retry: byHand('retry', senderOf),
  skip: byHand('skip', senderOf),
  done: byHand('done', senderOf),
  checkpoint: byHand('checkpoint', senderOf),
  record_review: byHand('record_review', senderOf),
  fork: {
    command: async ({ task: origin, version, id, by: given }, { identity, header }) => {
      const by = nameOf(senderOf('fork', header, Date.now()), given);
      const task = taskIdOf(id, identity);
      const history = await historyOf(pool, origin);
      const fork = forkOf(history, version, { task, by });
      if (fork === undefined)
        throw new HoldpointError(
          'ORCHESTRATOR_UNKNOWN_VERSION',
          `task ${origin} has ${String(history.length)} versions, not ${String(version)}`,
        );
      return fork;
    },
  },
  get: {
    query: async ({ id }) => {
      const found = await readAggregate(pool, readable, id);
      if (found === undefined || found.kind === 'registry' || found.state.phase === 'absent')
        throw unknown(id);
      return found.kind === 'program' ? programView(found.state) : taskView(found.state);
    },
  },
  list: { query: (page) => listTasks(pool, page) },
  history: {
    query: async ({ id, after = 0, limit }) => {
      if (limit === undefined) {
        const events = await historyOf(pool, id);
        return { events: events.filter(({ version }) => version > after), version: events.length };
      }
      if (RepositoryId.safeParse(id).success) throw unknown(id);
      const { events, ...page } = await readHistoryPage(pool, id, { after, limit });
      if (page.version === 0) throw unknown(id);
      return { events: [...events], ...page };
    },
  },
  program_register: { query: async ({ programs }) => registered(await register(programs)) },
  program_list: { query: (page) => listPrograms(pool, page) },
  workflows: { query: () => offeredWorkflows(pool, workflows) },
  value_put: {
    query: async ({ upload: id, sha256, part, parts, content }) => {
      const stored = await values(pool).putChunk({ id, sha256, part, parts }, Buffer.from(content, 'base64'));
      return { complete: stored !== undefined };
    },
  },
  value_get: {
    query: async ({ sha256, part }) => {
      const found = await values(pool).chunk(sha256, part);
      if (found === undefined)
        throw new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `unknown value: ${sha256}`);
      return { parts: found.parts, content: Buffer.from(found.content).toString('base64') };
    },
  },
  work: {
    command: (payload) => ({
      kind: 'program',
      aggregate: payload.task,
      message: { kind: 'work', payload },
    }),
  },
});
