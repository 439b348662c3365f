import { CONTROLS } from '@holdpoint/contracts/effect/capabilities';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Graph } from '../graph/graph.ts';
import { rulesProblems } from '../recovery/rule-problems.ts';
import type { Collector } from './collector.ts';

/** With `recover`, recovery alone handles failures. Reports competing settings. */
export const checkRecovering = (node: NodeDefinition, graph: Graph, { error }: Collector): void => {
  if (node.onError?.strategy !== 'recover') return;
  const at = `nodes[${node.id}]`;
  if (CONTROLS.has(node.uses)) {
    error({
      code: 'WORKFLOW_RECOVER_CONTROL',
      path: `${at}.onError`,
      found: `${node.uses}, which cannot fail`,
      expected: 'a capability that an executor runs',
    });
  }
  const onward = graph
    .outgoing(node.id)
    .filter(({ on, kind, loop }) => on === 'failed' && kind === 'route' && !loop);
  if (onward.length > 0) {
    error({
      code: 'WORKFLOW_RECOVER_ROUTE',
      path: `${at}.on.failed`,
      found: `a route to ${onward.map(({ to }) => to).join(', ')}`,
      expected: 'only routes that lead back: recovery handles failures',
    });
  }
  if (node.retry?.mode === 'on_failure') {
    error({
      code: 'WORKFLOW_RECOVER_RETRY',
      path: `${at}.retry.mode`,
      found: 'on_failure',
      expected: 'never or until_gate: recovery decides about retries',
    });
  }
  if (node.gatePolicy === 'retry' || node.gatePolicy === 'warn') {
    error({
      code: 'WORKFLOW_RECOVER_POLICY',
      path: `${at}.gatePolicy`,
      found: node.gatePolicy,
      expected: 'block: recovery handles failures',
    });
  }
};

/** Checks the recovery rules inside a definition. */
export const checkRecoveryRules = ({ recovery }: WorkflowDefinition, { error }: Collector): void => {
  if (recovery === undefined) return;
  for (const { path, ...problem } of rulesProblems(recovery)) error({ ...problem, path: `recovery.${path}` });
};
