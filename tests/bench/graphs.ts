import type { Client } from '@holdpoint/cli/bus/client';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compileTemplate, loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { round } from './report/percentiles.ts';

/** The number of parallel nodes. */
const WIDTH = 100;
const POLL_MS = 10;

/** Nodes without work, a hundred in parallel, each after one of the hundred before. */
const graphOf = (count: number, uses: string): WorkflowDefinition => ({
  id: 'bench.graph',
  version: '1',
  nodes: Array.from({ length: count }, (_, index) => ({
    id: NodeId.parse(`n${String(index)}`),
    uses,
    after: index < WIDTH ? [] : [NodeId.parse(`n${String(index - WIDTH)}`)],
    args: {},
  })),
});

/** The same as a template: a chain of unconfigured gates. */
const templateOf = (count: number): string =>
  [
    'id = "template.bench"\nversion = "v1"\n[params]\nscript = ""\n',
    ...Array.from({ length: count }, (_, index) =>
      [
        '[[nodes]]',
        `id = "n${String(index)}"`,
        'uses = "cap.env.shell.command.run"',
        'kind = "shell"',
        `args = { command = "echo \${script} ${String(index)}" }`,
        index < WIDTH ? '' : `after = [{ node_id = "n${String(index - WIDTH)}", policy = "success" }]`,
      ].join('\n'),
    ),
  ].join('\n');

const validateOnce = (text: string): number => {
  const begun = performance.now();
  const { template, problems } = loadTemplate('bench.toml', () => text);
  if (template === undefined) throw new Error(`the template is wrong: ${JSON.stringify(problems[0])}`);
  const made = compileTemplate(template, { set: {}, named: {}, positional: [], agentFor: () => undefined });
  if (made.definition === undefined)
    throw new Error(`the template is wrong: ${JSON.stringify(made.problems[0])}`);
  return performance.now() - begun;
};

/** Milliseconds to load, expand and check a template: the first time, and the median of later times. */
export const measureValidation = (count: number, times = 7): object => {
  const text = templateOf(count);
  const [first = 0, ...rest] = Array.from({ length: times }, () => validateOnce(text));
  const median = rest.toSorted((a, b) => a - b)[Math.floor(rest.length / 2)] ?? 0;
  return {
    measurement: 'validate a template',
    nodes: count,
    firstMs: round(first, 1),
    medianMs: round(median, 1),
  };
};

const isOver = async (client: Client, id: TaskId): Promise<boolean> => {
  const { items } = await client.call('orchestrator', 'list', { limit: 5 });
  const phase = items.find((task) => task.id === id)?.phase;
  if (phase === 'failed' || phase === 'cancelled') throw new Error(`the graph ${id} ${phase}`);
  return phase === 'completed';
};

/** Runs a graph to its end. Nodes per second from the submission to its completion. */
export const measureGraph = async (
  client: Client,
  {
    count,
    uses,
    repository,
  }: { readonly count: number; readonly uses: string; readonly repository?: string },
): Promise<object> => {
  const id = TaskId.parse(`g-${String(count)}-${String(Date.now())}`);
  const definition = graphOf(count, uses);
  const begun = performance.now();
  const request = { id, workflow: 'bench.graph', goal: 'measure', definition };
  await client.call('orchestrator', 'submit', {
    ...request,
    ...(repository !== undefined && { repository }),
  });
  while (!(await isOver(client, id))) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const ms = performance.now() - begun;
  return {
    measurement: 'graph',
    uses,
    nodes: count,
    ms: round(ms, 0),
    nodesPerSecond: round((count * 1_000) / ms, 0),
    msPerNode: round(ms / count, 3),
  };
};
