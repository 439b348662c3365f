import { commandIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { AskService } from '../bus/ask-service.ts';
import type { ClientPort } from '../client/port.ts';
import type { Workflow } from '../definition/workflow.ts';
import type { TestOrchestrator } from './orchestrator.ts';
import type { TestApprovals } from './approvals.ts';

type Payload = {
  readonly id: TaskId;
  readonly task: TaskId;
  readonly version: number;
  readonly after?: number;
  readonly reason?: string;
  readonly by?: string;
  readonly comment?: string;
  readonly response: Json;
} & Omit<SubmitTask, 'id'>;

/** The services of a client, in memory. */
export const createClientPort = (
  workflows: readonly Workflow[],
  orchestrator: TestOrchestrator,
  people: TestApprovals,
  fetch: ClientPort['fetch'],
) => {
  const watchers = new Map<string, Set<() => void>>();
  let commands = 0;

  const programFor = (name: string): ProgramDefinition => {
    const found = workflows.findLast(({ id, version }) => name === id || name === `${id}@${version}`);
    if (found !== undefined) return found.definition;
    throw new HoldpointError('ORCHESTRATOR_UNKNOWN_PROGRAM', `unknown program: ${name}`);
  };

  const answer = async (endpoint: string, payload: Payload): Promise<unknown> => {
    const { id, task, version, reason, by = 'tester' } = payload;
    switch (endpoint) {
      case 'orchestrator.submit': {
        const program = payload.program ?? programFor(payload.workflow);
        return orchestrator.tell(id, { kind: 'submit', task: id, payload: { ...payload, program } });
      }
      case 'orchestrator.get':
        return { id, version: orchestrator.at(id).version };
      case 'orchestrator.history':
        orchestrator.at(id);
        return { events: orchestrator.history(id).slice(payload.after ?? 0) };
      case 'orchestrator.cancel':
      case 'orchestrator.pause':
      case 'orchestrator.resume':
      case 'orchestrator.retry': {
        commands += 1;
        const kind = endpoint.slice('orchestrator.'.length) as 'cancel' | 'pause' | 'resume' | 'retry';
        const commandId = commandIdOf(kind, String(commands));
        return orchestrator.tell(id, { kind, payload: { id, by, reason }, commandId });
      }
      case 'orchestrator.fork': {
        const origin = orchestrator.at(task, version);
        return orchestrator.tell(id, { kind: 'fork_program', task: id, origin, version, by });
      }
      case 'approvals.decide':
        people.decide(id, {
          response: payload.response,
          ...(payload.comment !== undefined && { comment: payload.comment }),
        });
        return { id, status: 'answered', by: 'tester' };
      default:
        throw new HoldpointError(
          'CONTRACT_UNKNOWN_SUBJECT',
          `the test environment has no endpoint ${endpoint}`,
        );
    }
  };

  const port: ClientPort = {
    ask: ((service: string, endpoint: string, payload: Payload) =>
      answer(`${service}.${endpoint}`, payload)) as unknown as AskService,
    fetch,
    watch: (task, onChange) => {
      watchers.set(task, (watchers.get(task) ?? new Set()).add(onChange));
      return Promise.resolve(() => void watchers.get(task)?.delete(onChange));
    },
    // No message is lost on the way to a client, so it never polls and never keeps the time from stopping.
    clock: { after: () => () => undefined },
    user: 'tester',
  };
  return {
    port,
    /** The task has changed. */
    ring: (task: string): void => {
      for (const watcher of watchers.get(task) ?? []) watcher();
    },
  };
};
