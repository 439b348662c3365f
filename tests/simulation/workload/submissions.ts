import { effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { type NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { BuiltInWorkflow } from '@holdpoint/orchestrator/workflows/catalog';
import type { Choices } from '../choices.ts';
import { argumentsFor, kindOf, leadingOut, SENT } from './graph-nodes.ts';
import { randomGraph } from './graphs.ts';

/** The submission carries the whole definition in its inputs. */
export const simulatedWorkflow: BuiltInWorkflow = {
  id: 'simulated',
  version: '1',
  define: ({ inputs = {} }) => WorkflowDefinition.parse(inputs['definition']),
};

const NODES_MAX = 3;
const SHORTEST_TIMEOUT_MS = 5_000;
const LONGEST_TIMEOUT_MS = 5 * 60_000;
const PLAIN = 0.4;
const LEADS_OUT = 0.1;

const id = (index: number): NodeId => NodeId.parse(`n${String(index)}`);

const randomNode = (choices: Choices, task: string, index: number): NodeDefinition => {
  const place = `node ${task} ${String(index)}`;
  const before = Array.from({ length: index }, (_, i) => id(i));
  const node = {
    id: id(index),
    after: before.filter(() => choices.happens(`after ${place}`, 0.4)),
    args: { text: place },
  };
  if (choices.happens(`plain ${place}`, 0.15)) return { ...node, uses: 'control.prepare' };
  const uses = choices.pick(`uses ${place}`, SENT);
  const args = argumentsFor(uses, place);
  return {
    ...node,
    args: choices.happens(`leads out ${place}`, LEADS_OUT) ? leadingOut(args) : args,
    uses,
    effect: {
      kind: kindOf(uses),
      effectClass: effectClassOf(uses, kindOf(uses)) ?? 'opaque',
      idempotencyKey: `key-${String(index)}`,
      target: `simulated:${place}`,
      pool: DEFAULT_POOL,
      audience: ['operators'],
      approvalTimeoutMs: Math.floor(
        choices.between(`timeout ${place}`, SHORTEST_TIMEOUT_MS, LONGEST_TIMEOUT_MS),
      ),
    },
  };
};

/** Parallel and sequential nodes, most of them effects. */
const plainDefinition = (choices: Choices, task: string): WorkflowDefinition => {
  const count = 1 + Math.floor(choices.number(`size of ${task}`) ** 2 * NODES_MAX);
  const nodes = Array.from({ length: count }, (_, index) => randomNode(choices, task, index));
  const last = {
    id: NodeId.parse('done'),
    uses: 'control.terminal',
    after: nodes.map((node) => node.id),
    args: {},
  };
  return { id: 'simulated', version: '1', nodes: [...nodes, last] };
};

/** A submission: some of a known simple workflow, most with a graph of their own. */
export const randomSubmission = (
  choices: Choices,
  task: string,
  earlier: readonly string[],
): Omit<SubmitTask, 'id'> => {
  const goal = `do ${task}`;
  const requestedBy = choices.pick(`requester of ${task}`, ['ada', 'linus', 'somebody']);
  const criteria = choices.happens(`criteria of ${task}`, 0.3)
    ? { acceptanceCriteria: [`${task} works`] }
    : {};
  if (!choices.happens(`plain ${task}`, PLAIN))
    return { goal, requestedBy, ...criteria, ...randomGraph(choices, task, earlier) };
  const definition = plainDefinition(choices, task) as unknown as Json;
  return { workflow: 'simulated', goal, requestedBy, ...criteria, inputs: { definition } };
};
