import { NodeId } from '@holdpoint/contracts/ids';
import type { SubmitTask } from '@holdpoint/contracts/task';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition-problems';
import type { Choices } from './choices.ts';
import { randomParts } from './graph-nodes.ts';

const NODES_MAX = 6;
const TRIES_MAX = 20;
const REPOSITORIES = ['/repositories/one', '/repositories/two'];

export const nodeId = (index: number): NodeId => NodeId.parse(`n${String(index)}`);
const idsFrom = (from: number, to: number): readonly NodeId[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => nodeId(from + i));

type Routes = NonNullable<NodeDefinition['on']>;

/** Ways on for each outcome, and now and then a way back. */
const randomRoutes = (choices: Choices, place: string, index: number, count: number): Routes => {
  const later = idsFrom(index + 1, count);
  const sooner = idsFrom(0, index + 1);
  const some = (what: string, nodes: readonly NodeId[], probability: number): NodeId[] =>
    nodes.length > 0 && choices.happens(`${what} ${place}`, probability)
      ? [choices.pick(`${what} to ${place}`, nodes)]
      : [];
  const routes = {
    succeeded: some('success leads on', later, 0.15),
    failed: [...some('failure leads on', later, 0.3), ...some('failure leads back', sooner, 0.2)],
    blocked: [...some('block leads on', later, 0.1), ...some('block leads back', sooner, 0.08)],
  };
  return Object.fromEntries(Object.entries(routes).filter(([, to]) => to.length > 0));
};

const randomNode = (choices: Choices, task: string, index: number, count: number): NodeDefinition => {
  const place = `node ${task} ${String(index)}`;
  const parts = randomParts(choices, place);
  const on = randomRoutes(choices, place, index, count);
  return {
    id: nodeId(index),
    after: idsFrom(0, index).filter(() => choices.happens(`after ${place}`, 0.3)),
    args: { text: place },
    ...parts,
    ...(Object.keys(on).length > 0 && parts.uses !== 'control.terminal' && { on }),
  };
};

const graph = (choices: Choices, task: string): WorkflowDefinition => {
  const count = 1 + Math.ceil(choices.number(`size of ${task}`) * NODES_MAX);
  return {
    id: 'graph',
    version: '1',
    policy: {
      failureMode: choices.pick(`failure mode of ${task}`, ['block_downstream', 'continue_independent']),
      missingProducer: choices.pick(`missing producer of ${task}`, ['block', 'block', 'wait']),
    },
    nodes: Array.from({ length: count }, (_, index) => randomNode(choices, task, index, count)),
  };
};

/** The first of a few that can be run at all. */
const runnableGraph = (choices: Choices, task: string): WorkflowDefinition => {
  for (let tries = 1; tries < TRIES_MAX; tries += 1) {
    const definition = graph(choices, tries === 1 ? task : `${task} (${String(tries)})`);
    if (!definitionProblems(definition).some(({ severity }) => severity === 'error')) return definition;
  }
  return {
    id: 'graph',
    version: '1',
    nodes: [{ id: nodeId(0), uses: 'control.prepare', after: [], args: {} }],
  };
};

/** Routes, loops, gates, scripts, effects, locks and artifacts, in one of two repositories or in none. */
export const randomGraph = (
  choices: Choices,
  task: string,
  earlier: readonly string[],
): Pick<SubmitTask, 'workflow' | 'definition' | 'repository' | 'after' | 'approval'> => {
  const waits = earlier.length > 0 && choices.happens(`waits for another ${task}`, 0.2);
  const peer = waits ? choices.pick(`other task ${task}`, earlier) : '';
  const job = choices.happens(`for a node ${task}`, 0.5) ? `${peer}/n0` : peer;
  const approval = choices.pick(`approval ${task}`, ['required', 'none'] as const);
  return {
    workflow: 'graph',
    definition: runnableGraph(choices, task),
    ...(!choices.happens(`homeless ${task}`, 0.1) && {
      repository: choices.pick(`repository ${task}`, REPOSITORIES),
    }),
    ...(waits && { after: [job] }),
    ...(choices.happens(`says who starts ${task}`, 0.12) && { approval }),
  };
};
