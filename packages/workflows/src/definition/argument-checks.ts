import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { valueAt } from '../reading/shape.ts';
import { shown } from '../problems/report.ts';
import type { Problem } from '../problems/problem.ts';
import { type Collector, createCollector } from './collector.ts';
import { isRendered } from './node-texts.ts';

/** Known only when the node starts. */
const hasExpression = (value: unknown): boolean =>
  value !== undefined && JSON.stringify(value).includes('{{');

/** Other values may be secrets that were written in the clear. */
const SHOWN: ReadonlySet<string> = new Set(['file', 'method', 'mode', 'expect', 'redirects', 'type']);

/** Refuses wrong arguments of an effect before people decide about it. */
export const checkArguments = (node: NodeDefinition, { error }: Collector): void => {
  const { id, uses, args, effect } = node;
  if (effect === undefined) return;
  for (const { path, expected } of argumentProblems(uses, args)) {
    const value = valueAt(args, path);
    const [name = ''] = path;
    const isLater =
      path.length === 0
        ? Object.keys(args).some((each) => isRendered(node, uses, each) && hasExpression(args[each]))
        : isRendered(node, uses, name) && hasExpression(value);
    if (isLater) continue;
    error({
      code: 'WORKFLOW_ARGS_INVALID',
      path: [`nodes[${id}].args`, ...path].join('.'),
      found: value === undefined || SHOWN.has(name) ? shown(value) : 'another value',
      expected,
    });
  }
};

/** The wrong arguments of all effects of a definition that needs no other check. */
export const wrongArguments = ({ nodes }: WorkflowDefinition): readonly Problem[] => {
  const collector = createCollector();
  for (const node of nodes) checkArguments(node, collector);
  return collector.problems();
};
