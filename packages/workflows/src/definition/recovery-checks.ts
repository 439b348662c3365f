import { CONTROLS } from '@holdpoint/contracts/effect/capabilities';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Graph } from '../graph/graph.ts';
import { rulesProblems } from '../recovery/rule-problems.ts';
import type { Collector } from './collector.ts';

/** Whether recovery can decide what follows a failure of a node, and nothing else does as well. */
export const checkRecovering = (node: NodeDefinition, graph: Graph, { error }: Collector): void => {
  if (node.onError?.strategy !== 'recover') return;
  const at = `nodes[${node.id}]`;
  if (CONTROLS.has(node.uses)) {
    error({
      code: 'WORKFLOW_RECOVER_CONTROL',
      path: `${at}.onError`,
      found: `${node.uses}, of which nothing can fail`,
      expected: 'something that an executor carries out',
    });
  }
  const onward = graph
    .outgoing(node.id)
    .filter(({ on, kind, loop }) => on === 'failed' && kind === 'route' && !loop);
  if (onward.length > 0) {
    error({
      code: 'WORKFLOW_RECOVER_ROUTE',
      path: `${at}.on.failed`,
      found: `a way on to ${onward.map(({ to }) => to).join(', ')}`,
      expected: 'only what leads back: recovery decides what follows a failure',
    });
  }
  if (node.retry?.mode === 'on_failure') {
    error({
      code: 'WORKFLOW_RECOVER_RETRY',
      path: `${at}.retry.mode`,
      found: 'on_failure',
      expected: 'never or until_gate: recovery decides whether it is tried again',
    });
  }
  if (node.gatePolicy === 'retry' || node.gatePolicy === 'warn') {
    error({
      code: 'WORKFLOW_RECOVER_POLICY',
      path: `${at}.gatePolicy`,
      found: node.gatePolicy,
      expected: 'block: recovery decides what follows a failure',
    });
  }
};

/** What a definition brings along for recovery, whoever made it. */
export const checkRecoveryRules = ({ recovery }: WorkflowDefinition, { error }: Collector): void => {
  if (recovery === undefined) return;
  for (const { path, ...problem } of rulesProblems(recovery)) error({ ...problem, path: `recovery.${path}` });
};
