import { planBranch, type Artifact } from '@holdpoint/contracts/workflow/artifact';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { Outcome, type Lock, type NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { NodeDraft } from '../node/node-draft.ts';
import { sourceBranch } from '../effect/effects.ts';
import {
  AGENT,
  APPROVAL_GATE,
  CICD,
  CICD_GATE,
  CLEANUP,
  COMMAND,
  COMMIT,
  CONFLICT_GATE,
  INTEGRATE,
  PERSIST,
  PREPARE,
  PROMPT,
  SHELL_PROMPT,
  STAGE,
  STAGE_COMMIT,
  STOP_GATE,
  takesJson,
  TERMINAL,
} from '../node/labels.ts';
import { textArg, type Args } from '../node/node-args.ts';
import type { Wiring } from './wiring.ts';

const TARGETS = ['target', 'target_branch'];

/** The branches named by arguments, or by parameters with the same names. */
const branchesIn = (args: Args): readonly string[] => {
  const named = ['branch', 'source_branch', 'plan_branch'].map((name) => textArg(args, name));
  const source = named.some((branch) => branch.trim() !== '') ? named : [sourceBranch(args) ?? ''];
  return [...source, ...TARGETS.map((name) => textArg(args, name))];
};

/** Merges into the checked-out branch share one lock. */
const unnamedTarget = ({ uses, args }: NodeDefinition): readonly string[] =>
  uses === INTEGRATE && TARGETS.every((name) => textArg(args, name).trim() === '') ? ['HEAD'] : [];

const branchOf = (artifact: Artifact): string => {
  switch (artifact.type) {
    case 'plan_branch':
    case 'plan_doc':
    case 'plan_commits':
      return artifact.slug === '' && artifact.branch === '' ? '' : planBranch(artifact);
    case 'target_branch':
      return artifact.name;
    case 'merge_sentinel':
      return `draft/${artifact.slug}`;
    case 'custom':
      return '';
  }
};

const artifactsOf = ({ needs = [], produces = {} }: NodeDefinition): readonly Artifact[] => [
  ...needs,
  ...Outcome.options.flatMap((outcome) => produces[outcome] ?? []),
];

const onBranches = (branches: readonly string[]): Lock[] =>
  [...new Set(branches.map((branch) => branch.trim()))]
    .filter((branch) => branch !== '')
    .sort()
    .map((branch) => ({ key: `branch:${branch}`, mode: 'exclusive' }));

/** Capabilities that run scripts or git in the node's working folder. */
const REPOSITORY_LABELS: ReadonlySet<string> = new Set([
  AGENT,
  CICD,
  CICD_GATE,
  COMMAND,
  COMMIT,
  CONFLICT_GATE,
  INTEGRATE,
  PERSIST,
  PREPARE,
  STAGE,
  STAGE_COMMIT,
  STOP_GATE,
]);

const touchesRepository = ({
  uses,
  before = [],
  afterwards = [],
  finally: last = [],
}: NodeDefinition): boolean =>
  [uses, ...[...before, ...afterwards, ...last].map((step) => step.uses)].some((label) =>
    REPOSITORY_LABELS.has(label),
  );

const LOCK_FREE: ReadonlySet<string> = new Set([TERMINAL, APPROVAL_GATE, PROMPT, SHELL_PROMPT]);

/** Nodes that touch no shared resource. */
const needsNoLock = ({ uses, script }: NodeDefinition): boolean =>
  LOCK_FREE.has(uses) ||
  takesJson(uses) ||
  ((uses === STOP_GATE || uses === CICD_GATE) && script === undefined);

/** The nodes that run in a worktree of their task: everything after a preparation, until the cleanup. */
const inWorktree = (wiring: Wiring): ReadonlySet<NodeId> => {
  const { drafts } = wiring;
  const waits = drafts.flatMap((follower) => follower.node.after.map((id) => ({ id, follower })));
  const followers = Map.groupBy(waits, ({ id }) => id);
  const prepared = drafts.filter(({ node: { uses } }) => uses === PREPARE).map(({ node: { id } }) => id);
  const inside = new Set<NodeId>();
  const open = [...prepared];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const from = wiring.draft(id);
    if (from === undefined || from.node.uses === CLEANUP) continue;
    const next = [
      ...Outcome.options.flatMap((outcome) => wiring.targets(from, outcome)),
      ...(followers.get(id) ?? []).map(({ follower }) => follower),
    ];
    for (const { node } of next) {
      if (inside.has(node.id)) continue;
      inside.add(node.id);
      open.push(node.id);
    }
  }
  return inside;
};

/** The arguments and parameters that name branches. */
const NAMES = ['branch', 'source_branch', 'plan_branch', 'slug', 'plan', ...TARGETS];

const ownParams = ({ source: { scope } }: NodeDraft, params: ReadonlyMap<string, string>): Args =>
  Object.fromEntries(NAMES.filter((name) => scope.has(name)).map((name) => [name, params.get(name) ?? '']));

/**
 * Infers locks for each node that declares none, from the branches in its arguments, else its artifacts, else
 * the parameters of its own stage. A node that works in the repository on no known branch locks the whole
 * repository.
 */
export const lockInference = (
  wiring: Wiring,
  params: ReadonlyMap<string, string>,
): ((draft: NodeDraft, node: NodeDefinition) => Pick<NodeDefinition, 'locks'>) => {
  const isolated = inWorktree(wiring);
  return (draft, node) => {
    if (node.locks !== undefined || needsNoLock(node)) return {};
    const sources = [
      (): readonly string[] => [...branchesIn(node.args), ...unnamedTarget(node)],
      (): readonly string[] => artifactsOf(node).map(branchOf),
      (): readonly string[] => branchesIn(ownParams(draft, params)),
    ];
    for (const branches of sources) {
      const locks = onBranches(branches());
      if (locks.length > 0) return { locks };
    }
    if (!touchesRepository(node) || isolated.has(node.id)) return {};
    return { locks: [{ key: 'repo_serial', mode: 'exclusive' }] };
  };
};
