import type { NodeId } from '@holdpoint/contracts/values/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { RollbackInputs } from '@holdpoint/contracts/recovery/rollback';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { BuiltInWorkflow } from './catalog.ts';
import { undoNode } from './undo.ts';

const id = (name: string): NodeId => name as NodeId;

/** The target as people and rules see it: a worktree of the task, or the shared checkout. */
const targetOf = ({ place }: RollbackInputs, repository: string | undefined): string =>
  place.worktree === undefined ? `checkout:${repository ?? ''}` : `worktree:${place.worktree}`;

/** The job that needs the rollback handles its expiry. */
const chained = (nodes: readonly Omit<NodeDefinition, 'after'>[]): NodeDefinition[] =>
  nodes.map((node, i) => {
    const before = nodes[i - 1];
    const { effect } = node;
    return {
      ...node,
      after: before === undefined ? [] : [before.id],
      ...(effect && { effect: { ...effect, endsOnExpiry: true } }),
    };
  });

/**
 * Resets a worktree to a commit, after the effects since then were rolled back, latest first. Each of them is
 * an effect with its own approval. Inputs: {@link RollbackInputs}.
 */
export const rollback: BuiltInWorkflow = {
  id: 'rollback',
  version: '1',
  define: ({ inputs = {}, repository }) => {
    const { data, error } = RollbackInputs.safeParse(inputs);
    if (data === undefined)
      return {
        problems: error.issues.map(({ path, message }) => `${['inputs', ...path].join('.')}: ${message}`),
      };
    const { task, node, attempt, commit, place, locks, undo = [] } = data;
    const { worktree, branch } = place;
    return {
      id: 'rollback',
      version: '1',
      nodes: chained([
        { id: id('prepare'), uses: 'control.prepare', args: {} },
        ...undo.map((each, i) => undoNode(id(`undo_${String(i + 1)}`), each)),
        {
          id: id('reset'),
          uses: 'cap.env.builtin.git.rollback',
          args: {
            commit,
            isolated: worktree !== undefined,
            saved: `${task}/${node}/${String(attempt)}`,
            ...(worktree !== undefined && { worktree }),
            ...(branch !== undefined && { branch }),
          },
          ...(locks && { locks }),
          effect: {
            kind: 'destructive_edit',
            effectClass: 'fenced',
            idempotencyKey: `rollback:${task}/${node}/${String(attempt)}`,
            target: targetOf(data, repository),
            pool: DEFAULT_POOL,
            audience: ['operators'],
            approvalTimeoutMs: DECISION_MS,
          },
        },
        { id: id('done'), uses: 'control.terminal', args: {} },
      ]),
    };
  },
};
