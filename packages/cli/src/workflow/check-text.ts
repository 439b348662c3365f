import { columns } from '../output/columns.ts';
import type { Runs } from './batch.ts';
import { identityOf, type LoadedWorkflow } from './prepare.ts';

const countOf = ({ items }: Runs): number => items[0]?.definition.nodes.length ?? 0;

export const validationJson = ({ found, template }: LoadedWorkflow, runs: Runs): unknown => ({
  outcome: 'workflow_validation_passed',
  workflow_template_selector: found.selector,
  workflow_template_id: template.id,
  workflow_template_version: template.version,
  node_count: countOf(runs),
  ...runs.batch,
  ...(runs.batch !== undefined && {
    items: runs.items.map(({ item, definition }) => ({ item, node_count: definition.nodes.length })),
  }),
});

export const validationLines = ({ found, template }: LoadedWorkflow, runs: Runs): readonly string[] =>
  columns([
    ['Outcome', 'workflow validation passed'],
    ['Template', identityOf(template)],
    ['Selector', found.selector],
    ['Nodes', String(countOf(runs))],
    ...(runs.batch === undefined ? [] : runs.items.map(({ item = '' }) => ['Item', item])),
  ]);
