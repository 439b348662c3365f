import { userInfo } from 'node:os';
import { createIdentitySource, IDENTITY_HEADER, takesIdentity } from '@holdpoint/contracts/approval/identity';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { newTaskId, TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { filters } from '@holdpoint/contracts/bus/subjects';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { NatsConnection } from '@nats-io/transport-node';
import { checkState } from '../activation/context/state.ts';
import { artifactsOver } from '../bus/artifacts.ts';
import { type AskService, askOver } from '../bus/ask-service.ts';
import type { Workflow } from '../definition/workflow.ts';
import { createHandle, type WorkflowHandle } from './handle.ts';
import { retryUnavailable } from './retry.ts';
import type { ClientPort } from './port.ts';

export type StartOptions = {
  /** Chosen by the caller; a repeated start with the same id starts one task. */
  readonly id?: string;
  readonly goal?: string;
  /** Criteria for acceptance, shown in every request of the task. */
  readonly acceptanceCriteria?: readonly string[];
  /**
   * A name for the record of a client without a token, by default that of the local user. It proves nothing, and is
   * recorded as `unverified:<name>`.
   */
  readonly requestedBy?: string;
  /** Absolute path of the task's repository on the executor's machine. */
  readonly repository?: string;
};

/** Starts and follows tasks. */
export type Client = {
  /**
   * Starts a task. A workflow name selects its latest known version, `id@version` a specific one. Throws
   * `HoldpointError`: `PROGRAM_STATE_INVALID` for an invalid input, `ORCHESTRATOR_UNKNOWN_PROGRAM`, …
   */
  readonly start: {
    <State, Input, Result>(
      workflow: Workflow<State, Input, Result>,
      input: Input,
      options?: StartOptions,
    ): Promise<WorkflowHandle<State, Result>>;
    (workflow: string, input: JsonObject, options?: StartOptions): Promise<WorkflowHandle>;
  };
  /** A handle of an existing task; typed by its workflow, if passed. */
  readonly get: <State = unknown, Result = unknown>(
    id: string,
    workflow?: Workflow<State, never, Result>,
  ) => WorkflowHandle<State, Result>;
};

const inputsFor = (workflow: Workflow | string, input: unknown): JsonObject => {
  if (typeof workflow !== 'string') return checkState(workflow.schema, input);
  const { success, data } = JsonObject.safeParse(input);
  if (success) return data;
  throw new HoldpointError('CONTRACT_INVALID', 'the input must be a JSON object');
};

/** Creates a client on any port: the bus, or a test in memory. */
export const clientOver = (port: ClientPort, token?: string): Client => {
  const start = async (
    workflow: Workflow | string,
    input: unknown,
    { id, goal, acceptanceCriteria, requestedBy = port.user, repository }: StartOptions = {},
  ): Promise<WorkflowHandle> => {
    // The id makes a repeated submission harmless.
    const task = TaskId.parse(id ?? newTaskId());
    const name = typeof workflow === 'string' ? workflow : `${workflow.id}@${workflow.version}`;
    const submission = {
      id: task,
      workflow: name,
      goal: goal ?? `Run ${name}`,
      inputs: inputsFor(workflow, input),
      ...(typeof workflow !== 'string' && { program: workflow.definition }),
      ...(acceptanceCriteria !== undefined && { acceptanceCriteria: [...acceptanceCriteria] }),
      ...(requestedBy !== undefined && { requestedBy }),
      ...(repository !== undefined && { repository }),
    };
    await retryUnavailable(port, () => port.ask('orchestrator', 'submit', submission));
    return createHandle(port, task, token);
  };
  return {
    start,
    get: (id) => createHandle(port, TaskId.parse(id), token),
  };
};

export type ClientOptions = {
  /** A NATS user that may call the orchestrator and subscribe to its events. The client does not close it. */
  readonly connection: NatsConnection;
  /**
   * An API token of the approvals service, needed for `respond`. With it, its owner is the verified requester of
   * tasks; without it, `requestedBy` or the local user is recorded as unverified.
   */
  readonly token?: string;
};

/** Commands to the orchestrator say who the owner of the token is. */
export const askAs = (ask: AskService, token: string | undefined): AskService => {
  if (token === undefined) return ask;
  const headers = { authorization: `Bearer ${token}` };
  const source = createIdentitySource(() => ask('approvals', 'identify', {}, { headers }));
  return (service, endpoint, payload, options) =>
    takesIdentity(service, endpoint)
      ? source.withIdentity((assertion) =>
          ask(service, endpoint, payload, {
            ...options,
            headers: { ...options?.headers, [IDENTITY_HEADER]: assertion },
          }),
        )
      : ask(service, endpoint, payload, options);
};

/** The user of a process can have no name. */
const userName = (): { readonly user?: string } => {
  try {
    return { user: userInfo().username };
  } catch {
    return {};
  }
};

export const createClient = ({ connection, token }: ClientOptions): Client =>
  clientOver(
    {
      ask: askAs(askOver(connection), token),
      fetch: artifactsOver(askOver(connection)).fetch,
      clock: systemClock,
      ...userName(),
      watch: async (task, onChange) => {
        // An unreadable message and a refused subscription make the client read as well.
        const subscription = connection.subscribe(filters.eventsAbout('task', task), {
          callback: () => onChange(),
        });
        // After the flush, the server has the subscription.
        await connection.flush();
        return () => subscription.unsubscribe();
      },
    },
    token,
  );
