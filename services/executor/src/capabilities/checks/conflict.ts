import { sha256Of } from '@holdpoint/contracts/values/json';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { refuseFilters } from '../../adapters/git/staging.ts';
import { agentArgv, agentEnd, runAgent, withHint } from '../agent/invoke.ts';
import { recordStoppedMerge, resolvedTree, type StoppedMerge, unresolvedIn } from './conflict-files.ts';
import { moveBranch, obstacleTo } from '../git/branches/checkout.ts';
import { conflictsOf } from '../git/integrate/merge.ts';
import { freshWorktree, mergeInto, removeWorktree } from '../git/integrate/worktree.ts';
import { readInside } from '../prompt/resolve.ts';
import { clearSentinelFile, mergeSlug, readSentinel, sentinelPath } from '../merge/sentinel.ts';
import { argOf } from '../stage/arguments.ts';
import { blocked, failed, succeeded } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';

/** The tips of two branches that conflict. */
type Conflict = {
  readonly slug: string;
  readonly source: string;
  readonly source_tip: string;
  readonly target: string;
  readonly target_tip: string;
};

const INSTRUCTIONS = `You are in a git worktree with a merge that has stopped with conflicts. Resolve them: edit the files so that they keep the
intent of both branches, and leave no conflict markers. Change nothing else. You do not have to stage or commit. Only a file that
is already correct must be marked with \`git add\`; delete a file that should go. Do not abort the merge.`;

const promptFor = (
  { source, target, slug }: Conflict,
  files: readonly string[],
  instructions: string,
): string =>
  [
    instructions.trimEnd(),
    `The branch \`${target}\` is being merged into \`${source}\` (plan ${slug}).`,
    `## Files in conflict\n\n${files.map((path) => `- ${path}`).join('\n')}`,
  ].join('\n\n') + '\n';

const instructionsFor = async (
  input: StepInput,
  tools: StageTools,
): Promise<{ readonly text: string } | { readonly problem: string }> => {
  const text = argOf(input, 'prompt_text');
  if (text !== undefined) return { text };
  const file = argOf(input, 'prompt_file');
  if (file === undefined) return { text: INSTRUCTIONS };
  try {
    return { text: await readInside(tools, file) };
  } catch (error) {
    if (error instanceof Error) return { problem: `prompt_file ${file}: ${error.message}` };
    throw error;
  }
};

const contextOf = ({ slug, source, target }: Conflict) => ({ slug, branch: source, target });

const stillThere = (conflict: Conflict, files: readonly string[], why?: string): StepResult => {
  const what = `merging ${conflict.source} into ${conflict.target} conflicts in ${files.join(', ')}`;
  return blocked(why === undefined ? what : `${why}; ${what}`, {
    outputs: { slug: conflict.slug, files: [...files], sentinel: sentinelPath(conflict.slug) },
    context: contextOf(conflict),
  });
};

const commitResolved = async (
  tools: StageTools,
  conflict: Conflict,
  stopped: StoppedMerge,
): Promise<StepResult> => {
  const { slug, source, source_tip, target, target_tip } = conflict;
  const paths = stopped.files.map(({ path }) => path);
  await refuseFilters(stopped.git, paths);
  const tree = await resolvedTree(stopped);
  const message = `Merge branch '${target}' into ${source}\n\nResolved by an agent: ${paths.join(', ')}\n`;
  const git = tools.git(tools.repository.root);
  const commit = await git.commitTree({ tree, parents: [source_tip, target_tip], message });
  tools.assertInForce();
  const done = await moveBranch(tools, { branch: source, from: source_tip, to: commit });
  if (!done.moved) return stillThere(conflict, paths, `the resolution was not committed: ${done.why}`);
  await clearSentinelFile(tools.repository, slug);
  const detail = `merged ${target} into ${source} as ${commit.slice(0, 12)}, with ${paths.join(', ')} resolved`;
  return succeeded([detail, ...done.notes].join('; '), {
    outputs: { commit, files: paths },
    context: { ...contextOf(conflict), commit },
  });
};

type Attempt = {
  readonly argv: readonly string[];
  readonly instructions: string;
  readonly place: string;
};

const resolveIn = async (
  input: StepInput,
  tools: StageTools,
  conflict: Conflict,
  { argv, instructions, place }: Attempt,
): Promise<StepResult> => {
  const git = await freshWorktree(tools, place, conflict.source_tip);
  await mergeInto(git, conflict.target_tip, conflict.source);
  const stopped = await recordStoppedMerge(git, conflict.source_tip, conflict.target_tip);
  const files = stopped.files.map(({ path }) => path);
  // Git may merge in one direction without a conflict.
  if (files.length === 0) return commitResolved(tools, conflict, stopped);
  const prompt = promptFor(conflict, files, instructions);
  const ended = await runAgent(argv, withHint(prompt, input.hint), input, tools, git.root);
  // Its changes are checked in any case.
  if (ended.exitCode !== 0) tools.log('stderr', `warning: ${agentEnd(ended)}`);
  const unresolved = await unresolvedIn(stopped);
  if (unresolved.length > 0) return stillThere(conflict, unresolved, agentEnd(ended));
  return commitResolved(tools, conflict, stopped);
};

/** Lets the agent resolve a conflict in a temporary worktree. */
const autoResolve = async (
  input: StepInput,
  tools: StageTools,
  conflict: Conflict,
  files: readonly string[],
): Promise<StepResult> => {
  const { source: branch, source_tip: tip } = conflict;
  const agent = agentArgv(input, tools);
  if ('result' in agent) return stillThere(conflict, files, agent.result.detail);
  const instructions = await instructionsFor(input, tools);
  if ('problem' in instructions) return stillThere(conflict, files, instructions.problem);
  const place = `conflict-${tools.about.task}-${sha256Of(conflict.slug).slice(0, 8)}`;
  // An earlier attempt may have attached it to the branch.
  await removeWorktree(tools, place);
  const obstacle = await obstacleTo(tools, { branch, from: tip, to: tip });
  if (obstacle !== undefined) return blocked(obstacle, { context: contextOf(conflict) });
  try {
    return await resolveIn(input, tools, conflict, {
      argv: agent.argv,
      instructions: instructions.text,
      place,
    });
  } finally {
    await removeWorktree(tools, place);
  }
};

const isAutomatic = (input: StepInput): boolean =>
  input.autoResolve ??
  ['true', '1', 'yes', 'on'].includes((argOf(input, 'auto_resolve') ?? '').toLowerCase());

/** Passes once the conflict is resolved: by a user, or here by the agent. */
const resolve: RunStage = async (input, tools) => {
  const { repository, about } = tools;
  const slug = mergeSlug(input, about.task);
  const sentinel = await readSentinel(repository, slug);
  if (sentinel === undefined) return succeeded(`no conflict recorded for ${slug}`);
  const { source_branch: source, target_branch: target } = sentinel;
  const git = tools.git(repository.root);
  const [sourceTip, targetTip] = [await git.tip(source), await git.tip(target)];
  if (sourceTip === undefined || targetTip === undefined) {
    return failed(`branch ${sourceTip === undefined ? source : target} no longer exists`);
  }
  const conflict = { slug, source, source_tip: sourceTip, target, target_tip: targetTip };
  const files = await conflictsOf(tools, conflict);
  if (files.length === 0) {
    await clearSentinelFile(repository, slug);
    return succeeded(`${source} can be merged into ${target} without conflicts`, {
      context: { ...contextOf(conflict), commit: sourceTip },
    });
  }
  if (!isAutomatic(input)) return stillThere(conflict, files);
  return autoResolve(input, tools, conflict, files);
};

export const resolveConflict: StageModule = {
  uses: 'control.gate.conflict_resolution',
  run: resolve,
  restores: false,
  startsProcess: true,
};
