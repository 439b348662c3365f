import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { artifactsOf, type Contracts } from './artifacts.ts';
import type { Expander } from '../parameters/expander.ts';
import { fieldsOf, type Fields } from '../parameters/fields.ts';
import { gatesOf, type Gate } from './gates.ts';
import { argsOf } from './node-args.ts';
import { policyOf } from './node-policy.ts';
import { preconditionsOf } from './preconditions.ts';
import type { Report } from '../../problems/report.ts';
import { afterOf, routesOf } from '../../template/stage-graph.ts';
import { stepsOf } from './steps.ts';
import type { TemplateNode } from '../../template/template.ts';

/**
 * A node during compilation: its placeholders are replaced; fields that depend on other nodes are still
 * missing.
 */
export type NodeDraft = {
  readonly source: TemplateNode;
  readonly fields: Fields;
  readonly gates: readonly Gate[];
  readonly node: NodeDefinition;
};

const stepsAround = (
  source: TemplateNode,
  fields: Fields,
): Pick<NodeDefinition, 'before' | 'afterwards' | 'finally'> => ({
  ...(source.before !== undefined && { before: stepsOf(source.before, 'before', fields) }),
  ...(source.afterwards !== undefined && { afterwards: stepsOf(source.afterwards, 'afterwards', fields) }),
  ...(source.finally !== undefined && { finally: stepsOf(source.finally, 'finally', fields) }),
});

type DraftContext = {
  readonly expander: Expander;
  readonly report: Report;
  readonly contracts: Contracts;
  readonly known: ReadonlySet<string>;
};

export const draftOf = (source: TemplateNode, surroundings: DraftContext): NodeDraft => {
  const fields = fieldsOf(source, surroundings.expander, surroundings.report);
  const { id, uses, stage, name, pool, review, locks = [] } = source;
  const on = routesOf(source);
  const preconditions = preconditionsOf(source.preconditions ?? [], fields);
  const node: NodeDefinition = {
    id: id as NodeId,
    ...(name !== undefined && { name: fields.text(name, 'name') }),
    ...(stage !== undefined && { stage }),
    uses,
    after: afterOf(source),
    ...(on !== undefined && { on }),
    args: argsOf(uses, source.args ?? {}, 'args', fields),
    ...artifactsOf(source, surroundings, fields),
    ...(locks.length > 0 && {
      locks: locks.map(({ key, mode }, index) => ({
        key: fields.text(key, `locks[${String(index)}].key`),
        mode,
      })),
    }),
    ...(preconditions.length > 0 && { preconditions }),
    ...(pool !== undefined && { pool }),
    ...(review !== undefined && { review }),
    ...stepsAround(source, fields),
    ...policyOf(source, fields),
  };
  return { source, fields, gates: gatesOf(source.gates ?? [], fields), node };
};
