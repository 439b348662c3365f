import { NodeId } from '@holdpoint/contracts/values/ids';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type {
  NodeDefinition,
  WorkflowDefinition,
  WorkflowPolicy,
} from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import type { Choices } from '../choices.ts';
import { argumentsFor, probedScript, randomParts, undoable } from './graph-nodes.ts';

const NODES_MAX = 6;
const TRIES_MAX = 20;
/** Few, so that a failing workflow delays others. */
export const WORKFLOWS = ['graph', 'other', 'third'];
const REPOSITORIES = ['/repositories/one', '/repositories/two'];

export const nodeId = (index: number): NodeId => NodeId.parse(`n${String(index)}`);
const idsFrom = (from: number, to: number): readonly NodeId[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => nodeId(from + i));

type Routes = NonNullable<NodeDefinition['on']>;

/** Edges for each outcome, and sometimes an edge back. */
const randomRoutes = (
  choices: Choices,
  place: string,
  index: number,
  count: number,
  recovers: boolean,
): Routes => {
  const later = idsFrom(index + 1, count);
  const sooner = idsFrom(0, index + 1);
  const some = (what: string, nodes: readonly NodeId[], probability: number): NodeId[] =>
    nodes.length > 0 && choices.happens(`${what} ${place}`, probability)
      ? [choices.pick(`${what} to ${place}`, nodes)]
      : [];
  const routes = {
    succeeded: some('success leads on', later, 0.15),
    failed: [
      ...(recovers ? [] : some('failure leads on', later, 0.3)),
      ...some('failure leads back', sooner, recovers ? 0.5 : 0.2),
    ],
    blocked: [...some('block leads on', later, 0.1), ...some('block leads back', sooner, 0.08)],
  };
  return Object.fromEntries(Object.entries(routes).filter(([, to]) => to.length > 0));
};

const randomNode = (choices: Choices, task: string, index: number, count: number): NodeDefinition => {
  const place = `node ${task} ${String(index)}`;
  const worktree = choices.happens(`works in a worktree ${task}`, 0.4);
  const prepares = worktree && index === 0;
  const parts: ReturnType<typeof randomParts> = prepares
    ? { uses: 'cap.env.builtin.worktree.prepare' }
    : randomParts(choices, place);
  const recovers = parts.onError?.strategy === 'recover';
  const on = prepares ? {} : randomRoutes(choices, place, index, count, recovers);
  return {
    id: nodeId(index),
    after: idsFrom(0, index).filter(
      (id) => choices.happens(`after ${place}`, 0.3) || (worktree && id === nodeId(0)),
    ),
    args: {
      ...argumentsFor(parts.uses, place),
      ...(recovers && choices.happens(`stubborn ${place}`, 0.5) && { stubborn: true }),
    },
    ...parts,
    ...(Object.keys(on).length > 0 && parts.uses !== 'control.terminal' && { on }),
  };
};

const withArguments = (text: string, parts: ReturnType<typeof randomParts>) => ({
  args: argumentsFor(parts.uses, text),
  ...parts,
});

/** The recovery rules of the repository, sometimes changed. */
const randomRecovery = (choices: Choices, task: string): Pick<WorkflowDefinition, 'recovery'> => {
  const chance = (what: string, probability: number): boolean =>
    choices.happens(`${what} of ${task}`, probability);
  const whole = (what: string, from: number, to: number): number =>
    Math.floor(choices.between(`${what} of ${task}`, from, to));
  if (!chance('rules', 0.75)) return {};
  return {
    recovery: {
      ...(chance('own class', 0.3) && {
        rules: [
          {
            id: 'own',
            class: choices.pick(`own class of ${task} is`, ['TRANSIENT', 'VERIFICATION_FAILED']),
            exitCodes: [3],
          },
        ],
      }),
      ...(chance('thresholds', 0.4) && {
        thresholds: {
          VERIFICATION_FAILED: whole('verifications', 1, 5),
          UNKNOWN: whole('unknowns', 1, 3),
          TRANSIENT: whole('transients', 1, 4),
        },
      }),
      ...(chance('backoff', 0.3) && { backoff: { firstMs: whole('first', 0, 2_000), mostMs: 4_000 } }),
      ...(chance('circular', 0.3) && { circular: { attempts: whole('circle', 2, 5) } }),
      ...(chance('continues', 0.3) && { continues: whole('sessions', 0, 3) }),
      ...(chance('circuit', 0.85) && {
        circuit: {
          failures: whole('failures', 1, 3),
          windowMs: whole('window', 5_000, 300_000),
          coolDownMs: whole('cool-down', 1_000, 20_000),
        },
      }),
    },
  };
};

const randomBudget = (choices: Choices, task: string): Pick<WorkflowPolicy, 'budget'> =>
  choices.happens(`budget of ${task}`, 0.3)
    ? {
        budget: {
          tokens: Math.floor(choices.between(`tokens of ${task}`, 20, 200)),
          ...(choices.happens(`dear ${task}`, 0.4) && { costUsd: 0.6 }),
          ...(choices.happens(`slow ${task}`, 0.3) && { workMs: 1_500 }),
        },
      }
    : {};

const graph = (choices: Choices, task: string): WorkflowDefinition => {
  const count = 1 + Math.ceil(choices.number(`size of ${task}`) * NODES_MAX);
  return {
    id: choices.pick(`workflow of ${task}`, WORKFLOWS),
    version: '1',
    ...randomRecovery(choices, task),
    policy: {
      failureMode: choices.pick(`failure mode of ${task}`, ['block_downstream', 'continue_independent']),
      missingProducer: choices.pick(`missing producer of ${task}`, ['block', 'block', 'wait']),
      ...randomBudget(choices, task),
    },
    nodes: Array.from({ length: count }, (_, index) => randomNode(choices, task, index, count)),
  };
};

/**
 * An agent in a worktree, a check that leads back to it, and the nodes after it. Recovery handles most
 * failures.
 */
const agentAndCheck = (choices: Choices, task: string): WorkflowDefinition => {
  const chance = (what: string, probability: number): boolean =>
    choices.happens(`${what} of ${task}`, probability);
  const args = (what: string) => ({
    text: `${what} of ${task}`,
    ...(chance(`stubborn ${what}`, 0.6) && { stubborn: true }),
  });
  const recover = {
    onError: { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 },
  } as const satisfies Partial<NodeDefinition>;
  const alone = chance('alone', 0.3) && { locks: [{ key: 'k-0', mode: 'exclusive' } as const] };
  const [prepare, agent, write, check, last] = idsFrom(0, 5) as [NodeId, NodeId, NodeId, NodeId, NodeId];
  // An effect before the check is undone when the worktree goes back.
  const writes = chance('writes before', 0.35);
  return {
    id: choices.pick(`workflow of ${task}`, WORKFLOWS),
    version: '1',
    ...randomRecovery(choices, task),
    policy: {
      failureMode: 'block_downstream',
      missingProducer: 'block',
      ...randomBudget(choices, task),
    },
    nodes: [
      { id: prepare, uses: 'cap.env.builtin.worktree.prepare', after: [], args: { text: 'prepare' } },
      {
        id: agent,
        uses: 'cap.agent.invoke',
        agent: ['agent'],
        after: [prepare],
        args: args('agent'),
        ...recover,
        ...alone,
      },
      ...(writes
        ? [{ id: write, after: [agent], ...withArguments(task, undoable(choices, `write of ${task}`)) }]
        : []),
      {
        id: check,
        uses: 'control.gate.stop_condition',
        script: 'check',
        after: [writes ? write : agent],
        args: args('check'),
        on: { failed: [agent] },
        retry: { mode: 'until_gate', budget: Math.floor(choices.between(`rounds of ${task}`, 0, 9)) },
        ...recover,
        ...alone,
      },
      {
        id: last,
        after: [check],
        ...withArguments(
          task,
          (chance('deploys', 0.5) ? probedScript : randomParts)(choices, `last of ${task}`),
        ),
      },
    ],
  };
};

/** The first random graph that validates. */
const runnableGraph = (choices: Choices, task: string): WorkflowDefinition => {
  for (let tries = 1; tries < TRIES_MAX; tries += 1) {
    const name = tries === 1 ? task : `${task} (${String(tries)})`;
    const isUsual = choices.happens(`agent and check ${name}`, 0.3);
    const definition = isUsual ? agentAndCheck(choices, name) : graph(choices, name);
    if (!definitionProblems(definition).some(({ severity }) => severity === 'error')) return definition;
  }
  return {
    id: 'graph',
    version: '1',
    nodes: [{ id: nodeId(0), uses: 'control.prepare', after: [], args: {} }],
  };
};

/** Edges, loops, gates, scripts, effects, locks and artifacts, in one of two repositories or in none. */
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
