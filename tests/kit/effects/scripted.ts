import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Client } from '../bus/client.ts';
import { newTaskId } from '../tasks/tasks.ts';

// Workflows of a few scripts, for tests that need a task with output, with a stuck job or with a repeated
// request.

type Definition = NonNullable<ApiRequest<'orchestrator', 'submit'>['definition']>;

const id = (name: string): NodeId => NodeId.parse(name);
const script = (name: string, command: string, more: Partial<NodeDefinition> = {}): NodeDefinition => ({
  id: id(name),
  uses: 'cap.env.shell.command.run',
  after: [],
  args: { command },
  ...more,
});
const end = (...after: readonly string[]): NodeDefinition => ({
  id: id('done'),
  uses: 'control.terminal',
  after: after.map(id),
  args: {},
});

/** One script, `print`. */
export const printing = (command: string): Definition => ({
  id: 'printing',
  version: '1',
  nodes: [script('print', command), end('print')],
});

/**
 * One script, `work`, which is stuck after its first failure and asks a person. Each test needs a name of
 * its own, because repeated stuck jobs open the circuit of the workflow.
 */
export const stuckOn = (name: string, command: string): Definition => ({
  id: `stuck-${name}`,
  version: '1',
  recovery: {
    thresholds: { UNKNOWN: 1, VERIFICATION_FAILED: 1, BROKEN_BUILD: 1, TRANSIENT: 1 },
  },
  nodes: [
    script('work', command, {
      onError: { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 },
    }),
    end('work'),
  ],
});

/** The script `write` prints a line, which `publish` appends to a file. A request for changes repeats it. */
export const rewritten = (command: string, file: string): Definition => ({
  id: 'rewritten',
  version: '1',
  nodes: [
    script('write', command),
    {
      id: id('publish'),
      uses: 'cap.file.append',
      after: [id('write')],
      args: { file, line: '{{ nodes.write.outputs.stdout | trim }}' },
      effect: {
        kind: 'write_external',
        effectClass: 'keyed',
        idempotencyKey: `append:${file}`,
        target: `file:${file}`,
        pool: 'default',
        audience: ['operators'],
        approvalTimeoutMs: 300_000,
        gate: {
          id: 'rewrite',
          version: '1',
          inputs: {},
          given: {},
          loadContext: [],
          request: { onOpen: [] },
          policy: {},
          timeoutMs: {},
          onDecision: { request_changes: { emit: 'return_to_orchestrator', to: id('write') } },
          resumePolicy: 'decision',
          resumeBranches: [],
          recovery: {},
          constraints: [],
        },
      },
    },
    end('publish'),
  ],
});

export const submitScripted = async (
  client: Client,
  repository: string,
  definition: Definition,
): Promise<TaskId> => {
  const task = newTaskId();
  const goal = `${definition.id} of ${task}`;
  await client.ask('orchestrator', 'submit', {
    id: task,
    workflow: definition.id,
    definition,
    goal,
    repository,
  });
  return task;
};
