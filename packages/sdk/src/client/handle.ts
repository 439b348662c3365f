import { SURFACE_HEADER } from '@holdpoint/contracts/bus/cloudevents';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { newTaskId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { fullOutput } from '../activation/phases/phase-run.ts';
import type { Frozen } from '../definition/frozen.ts';
import { WorkflowCancelled, WorkflowFailed } from './errors.ts';
import { eventIn, isEnd, type WorkflowEvent } from './events.ts';
import { clientEventOf } from './client-event.ts';
import { followTask, historyOf } from './follow.ts';
import { retryUnavailable } from './retry.ts';
import type { ClientPort } from './port.ts';
import { emptyView, type OpenInput, type TaskView, applyEvent } from './task-view.ts';

export type RespondOptions = {
  readonly comment?: string;
  /** Answers only a question of this phase. */
  readonly phase?: string;
};

export type ForkOptions = {
  /** A version of the task, or a phase name: the latest arrival there. */
  readonly at: number | string;
  readonly id?: string;
};

/** One task of a workflow. */
export type WorkflowHandle<State = unknown, Result = unknown> = {
  readonly id: string;
  /** The result of the task after its end. Throws `WorkflowFailed` or `WorkflowCancelled`. */
  readonly result: () => Promise<Result>;
  /** The current state. */
  readonly state: () => Promise<Frozen<State>>;
  /** All events of the task from first to last, once and in order. */
  readonly events: () => AsyncGenerator<WorkflowEvent<State>, void, undefined>;
  /**
   * Answers the open question of the task as the owner of the token. Throws when there is no open question,
   * or when the answer is invalid.
   */
  readonly respond: (response: Json, options?: RespondOptions) => Promise<void>;
  readonly cancel: (reason: string) => Promise<void>;
  /** Starts a new task from that version. Effects that happened before it do not happen again. */
  readonly fork: (options: ForkOptions) => Promise<WorkflowHandle<State, Result>>;
};

const taskViewOf = (entries: readonly HistoryEntry[]): TaskView =>
  entries.reduce((story, entry) => {
    const fact = clientEventOf(entry);
    return fact === undefined ? story : applyEvent(story, fact, entry.version);
  }, emptyView);

const versionFor = (story: TaskView, at: number | string): number => {
  if (typeof at === 'number') return at;
  const version = story.reached[at];
  if (version !== undefined) return version;
  throw new HoldpointError('ORCHESTRATOR_UNKNOWN_VERSION', `the task has not reached the phase ${at}`);
};

const openInput = ({ input }: TaskView, phase: string | undefined): OpenInput => {
  if (input !== undefined && (phase === undefined || input.phase === phase)) return input;
  const who = phase === undefined ? 'the task' : `the phase ${phase}`;
  throw new HoldpointError('ORCHESTRATOR_ILLEGAL_IN_PHASE', `${who} has no open question`);
};

export const createHandle = <State, Result>(
  port: ClientPort,
  id: TaskId,
  token: string | undefined,
): WorkflowHandle<State, Result> => {
  const { ask, user } = port;
  const named = user === undefined ? {} : { by: user };
  const story = async (): Promise<TaskView> =>
    taskViewOf(await retryUnavailable(port, () => historyOf(port, id)));

  async function* events(): AsyncGenerator<WorkflowEvent<State>, void, undefined> {
    for await (const entry of followTask(port, id)) {
      const event = eventIn<State>(entry);
      if (event === undefined) continue;
      yield event;
      if (isEnd(event)) return;
    }
  }

  const ended = async (): Promise<{ readonly end: WorkflowEvent; readonly output: Json | undefined }> => {
    let output: Json | undefined;
    for await (const event of events()) {
      // Only a terminal phase has no next one, and its output is that of the task.
      if (event.name === 'phase:completed') output = event.next === undefined ? event.output : undefined;
      if (isEnd(event)) return { end: event, output };
    }
    throw new Error('the event stream ended before the task');
  };

  return {
    id,
    events,
    state: async () => (await story()).state as Frozen<State>,
    result: async () => {
      const { end, output } = await ended();
      const full = await retryUnavailable(port, () => fullOutput(port, output));
      if (end.name === 'workflow:failed') throw new WorkflowFailed(id, end.error, full);
      if (end.name === 'workflow:cancelled') throw new WorkflowCancelled(id, end.by, end.reason);
      return full as Result;
    },
    respond: async (response, { comment, phase } = {}) => {
      if (token === undefined)
        throw new HoldpointError(
          'APPROVALS_UNAUTHENTICATED',
          'an answer needs a token: createClient({ token })',
        );
      const { approval, digest } = openInput(await story(), phase);
      const headers = { authorization: `Bearer ${token}`, [SURFACE_HEADER]: 'api' };
      const said = { id: approval, decision: 'respond' as const, response, digest };
      // A new question may not have reached the approvals service yet.
      await retryUnavailable(
        port,
        () => ask('approvals', 'decide', { ...said, ...(comment !== undefined && { comment }) }, { headers }),
        ['RUNTIME_UNAVAILABLE', 'APPROVALS_UNKNOWN'],
      );
    },
    cancel: async (reason) => {
      await retryUnavailable(port, () => ask('orchestrator', 'cancel', { id, reason, ...named }));
    },
    fork: async ({ at, id: wanted }) => {
      const version = versionFor(await story(), at);
      const fork = TaskId.parse(wanted ?? newTaskId());
      await retryUnavailable(port, () =>
        ask('orchestrator', 'fork', { task: id, version, id: fork, ...named }),
      );
      return createHandle<State, Result>(port, fork, token);
    },
  };
};
