import { access } from 'node:fs/promises';
import { type Artifact, artifactLabel, planBranch, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { Precondition } from '@holdpoint/contracts/workflow/workflow';
import type { Git } from '../../adapters/git/git.ts';
import { isBranchName } from '../../adapters/git/ref-name.ts';
import { PLAN_FOLDERS, slugOf } from '../plan/plan-document.ts';
import { sentinelPath } from '../merge/sentinel.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { succeeded } from '../stage/results.ts';

/** Files of tasks do not count as uncommitted changes. */
const OURS = /^(\.holdpoint\/(worktrees|tmp)|\.vizier\/(worktrees|tmp|tmp-worktrees))(\/|$)/;
export const isOurs = (path: string): boolean => OURS.test(path);
const NAMED_MAX = 5;

type Met = { readonly kind: string; readonly met: boolean; readonly detail: string };

/** Reports which preconditions are met, and which artifacts exist. Changes nothing. */
const inspect: RunStage = async ({ preconditions = [], artifacts = [], context }, tools) => {
  const git = tools.git(tools.repository.root);
  const met: Met[] = [];
  for (const precondition of preconditions)
    met.push({ kind: precondition.kind, ...(await look(precondition, context.branch, tools, git)) });
  const there: Record<string, boolean> = {};
  for (const artifact of artifacts) {
    if (scopeOf(artifact) !== 'repository') continue;
    there[artifactLabel(artifact)] = await isThere(artifact, tools, git);
  }
  const unmet = met.filter((one) => !one.met).map(({ kind, detail }) => `${kind}: ${detail}`);
  const said = unmet.length === 0 ? 'all preconditions are met' : unmet.join('; ');
  return succeeded(preconditions.length === 0 ? undefined : said, {
    outputs: { preconditions: met, artifacts: there },
  });
};

export const inspectRepository: StageModule = {
  uses: 'cap.env.builtin.repository.inspect',
  run: inspect,
  restores: false,
};

const look = async (
  precondition: Precondition,
  contextBranch: string | undefined,
  tools: StageTools,
  git: Git,
): Promise<Omit<Met, 'kind'>> => {
  switch (precondition.kind) {
    case 'clean_worktree':
      return cleanIn(tools.git());
    case 'branch_exists': {
      const branch = precondition.branch ?? contextBranch;
      if (branch === undefined || branch === '') return { met: false, detail: 'no branch given' };
      const exists = await branchIsThere(branch, git);
      return { met: exists, detail: `branch ${branch} ${exists ? 'exists' : 'does not exist'}` };
    }
  }
};

const cleanIn = async (git: Git): Promise<Omit<Met, 'kind'>> => {
  const paths = (await git.status()).map(({ path }) => path).filter((path) => !isOurs(path));
  if (paths.length === 0) return { met: true, detail: 'no uncommitted changes' };
  const named = paths.slice(0, NAMED_MAX).join(', ');
  const more = paths.length > NAMED_MAX ? ` and ${String(paths.length - NAMED_MAX)} more` : '';
  return { met: false, detail: `not committed: ${named}${more}` };
};

const branchIsThere = async (branch: string, git: Git): Promise<boolean> =>
  isBranchName(branch) && git.branchExists(branch);

const isThere = async (artifact: Artifact, tools: StageTools, git: Git): Promise<boolean> => {
  switch (artifact.type) {
    case 'plan_branch':
    case 'plan_commits':
      return branchIsThere(planBranch(artifact), git);
    case 'plan_doc':
      return planIsThere(artifact.slug, planBranch(artifact), git);
    case 'target_branch':
      return branchIsThere(artifact.name, git);
    case 'merge_sentinel':
      return sentinelIsThere(artifact.slug, tools);
    case 'custom':
      return false;
  }
};

const planIsThere = async (name: string, branch: string, git: Git): Promise<boolean> => {
  const named = slugOf(name);
  if ('problem' in named || !isBranchName(branch)) return false;
  const { slug } = named;
  const tip = await git.tip(branch);
  if (tip === undefined) return false;
  for (const folder of PLAN_FOLDERS)
    if ((await git.fileAt(tip, `${folder}/${slug}.md`)) !== undefined) return true;
  return false;
};

const sentinelIsThere = async (slug: string, { repository }: StageTools): Promise<boolean> => {
  const path = await repository.inside(sentinelPath(slug));
  return access(path).then(
    () => true,
    () => false,
  );
};
