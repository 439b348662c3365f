import type { NodeId } from '@holdpoint/contracts/values/ids';
import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { UndoInputs } from '@holdpoint/contracts/effect/undo';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { BuiltInWorkflow } from './catalog.ts';

const node = (id: string): NodeId => id as NodeId;

/** The node that undoes one effect, after other nodes. */
export const undoNode = (
  id: NodeId,
  { effect, uses, effectClass, args, outputs, target, pool = DEFAULT_POOL }: UndoInputs,
): Omit<NodeDefinition, 'after'> => ({
  id,
  uses,
  args: { effect, args, outputs },
  effect: {
    kind: 'destructive_edit',
    effectClass,
    idempotencyKey: `undo:${effect}`,
    target,
    pool,
    audience: ['operators'],
    approvalTimeoutMs: DECISION_MS,
  },
});

/** Undoes an applied effect, by an effect with its own approval. Inputs: {@link UndoInputs}. */
export const undo: BuiltInWorkflow = {
  id: 'undo',
  version: '1',
  define: ({ inputs = {} }) => {
    const { data, error } = UndoInputs.safeParse(inputs);
    if (data === undefined)
      return {
        problems: error.issues.map(({ path, message }) => `${['inputs', ...path].join('.')}: ${message}`),
      };
    const [problem] = argumentProblems(data.uses, { args: data.args });
    if (problem !== undefined)
      return { problems: [`${['inputs', ...problem.path].join('.')}: expected ${problem.expected}`] };
    return {
      id: 'undo',
      version: '1',
      nodes: [
        { id: node('prepare'), uses: 'control.prepare', after: [], args: {} },
        { ...undoNode(node('undo'), data), after: [node('prepare')] },
        { id: node('done'), uses: 'control.terminal', after: [node('undo')], args: {} },
      ],
    };
  },
};
