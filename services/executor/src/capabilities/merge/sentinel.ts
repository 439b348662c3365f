import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import { replaceFile } from '../../adapters/files/durable-file.ts';
import type { Repository } from '../../adapters/git/repositories.ts';
import { CleanFailure } from '../../ports/capability.ts';
import { argOf, type RunStage, type StageModule, type StageTools, succeeded } from '../stage.ts';
import { keepOutOfStatus } from '../worktree/prepare.ts';

const FOLDER = '.holdpoint/tmp/merge-conflicts';
const NAME_CHARACTERS_MAX = 200;

/** Says that a merge has met a conflict that nobody has resolved yet. */
export const Sentinel = z.object({
  slug: z.string(),
  source_branch: z.string(),
  target_branch: z.string(),
  task: z.string(),
  node: z.string(),
  created_at: z.string(),
  /** What was in conflict when it was written. */
  files: z.array(z.string()),
});
export type Sentinel = z.infer<typeof Sentinel>;

/** Where the sentinel of a plan is in its repository. Two slugs never share a file, whatever characters they have. */
export const sentinelPath = (slug: string): string => {
  const name = encodeURIComponent(slug.toWellFormed());
  const short =
    name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX - 65)}~${sha256Of(slug)}` : name;
  return `${FOLDER}/${short}.json`;
};

export const readSentinel = async (repository: Repository, slug: string): Promise<Sentinel | undefined> => {
  const path = await repository.inside(sentinelPath(slug));
  try {
    return Sentinel.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    const problem = `${sentinelPath(slug)} cannot be read: it is no sentinel of a merge`;
    throw new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', problem), error);
  }
};

export const writeSentinelFile = async (repository: Repository, sentinel: Sentinel): Promise<string> => {
  const path = await repository.inside(sentinelPath(sentinel.slug));
  await keepOutOfStatus(repository);
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, `${JSON.stringify(sentinel, undefined, 2)}\n`);
  return sentinelPath(sentinel.slug);
};

export const clearSentinelFile = async (repository: Repository, slug: string): Promise<void> =>
  rm(await repository.inside(sentinelPath(slug)), { force: true });

const withoutDraft = (branch: string | undefined): string | undefined =>
  branch === undefined || branch === '' ? undefined : branch.replace(/^draft\//, '');

/** Which plan a merge is about. */
export const mergeSlug = (input: StepInput, task: string): string =>
  argOf(input, 'slug', 'plan') ??
  input.context.slug ??
  withoutDraft(argOf(input, 'branch', 'source_branch', 'plan_branch') ?? input.context.branch) ??
  task;

/** The branch that is merged; the names that a template may give it are many. */
export const sourceBranchOf = (input: StepInput): string | undefined => {
  const named = argOf(input, 'branch', 'source_branch', 'plan_branch');
  if (named !== undefined) return named;
  const slug = argOf(input, 'slug', 'plan');
  if (slug !== undefined) return `draft/${slug}`;
  const { branch, slug: current } = input.context;
  return branch ?? (current === undefined ? undefined : `draft/${current}`);
};

/** The branch that is merged into: named, or the one that is checked out in the repository itself. */
export const targetBranchOf = async (input: StepInput, tools: StageTools): Promise<string | undefined> =>
  argOf(input, 'target', 'target_branch') ?? (await tools.git(tools.repository.root).head()).branch;

/** Says that a merge waits for its conflicts. */
const write: RunStage = async (input, tools) => {
  const slug = mergeSlug(input, tools.about.task);
  const path = await writeSentinelFile(tools.repository, {
    slug,
    source_branch: sourceBranchOf(input) ?? `draft/${slug}`,
    target_branch: (await targetBranchOf(input, tools)) ?? '',
    task: tools.about.task,
    node: tools.about.node,
    created_at: new Date().toISOString(),
    files: [],
  });
  return succeeded(`wrote ${path}`, { outputs: { slug, path } });
};

export const writeSentinel: StageModule = { uses: 'cap.env.builtin.merge.sentinel.write', run: write };

/** Says that it waits no more. */
const clear: RunStage = async (input, tools) => {
  const slug = mergeSlug(input, tools.about.task);
  await clearSentinelFile(tools.repository, slug);
  return succeeded(`there is no ${sentinelPath(slug)} any more`, { outputs: { slug } });
};

export const clearSentinel: StageModule = { uses: 'cap.env.builtin.merge.sentinel.clear', run: clear };
