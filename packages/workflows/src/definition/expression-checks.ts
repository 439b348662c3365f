import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { checkExpression, checkText } from '../expression/expression.ts';
import type { Collector } from './collector.ts';
import { expressionsOf, SCOPE_NAMES, textsOf, type NodeText } from './node-texts.ts';

const report = (
  { error }: Collector,
  node: string,
  { path, text }: NodeText,
  problem: string | undefined,
): void => {
  if (problem === undefined) return;
  const start = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  error({
    code: 'WORKFLOW_EXPRESSION',
    path: `nodes[${node}].${path}`,
    found: `${JSON.stringify(start)}: ${problem}`,
    expected:
      path in { guard: 0, until: 0, forEach: 0 } ? 'an expression' : 'a text with {{ expression }} parts',
  });
};

export const checkExpressions = (node: NodeDefinition, collector: Collector): void => {
  for (const written of expressionsOf(node))
    report(collector, node.id, written, checkExpression(written.text, SCOPE_NAMES));
  for (const written of textsOf(node))
    report(collector, node.id, written, checkText(written.text, SCOPE_NAMES));
};
