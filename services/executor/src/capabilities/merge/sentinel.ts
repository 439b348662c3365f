import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import { replaceFile } from '../../adapters/files/durable-file.ts';
import type { Repository } from '../../adapters/git/repositories.ts';
import { CleanFailure } from '../../ports/capability.ts';
import { argOf } from '../stage/arguments.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { succeeded } from '../stage/results.ts';
import { keepOutOfStatus } from '../worktree/prepare.ts';

const FOLDER = '.holdpoint/tmp/merge-conflicts';
const NAME_CHARACTERS_MAX = 200;

/** Marks a merge with an unresolved conflict. */
export const Sentinel = z.object({
  slug: z.string(),
  source_branch: z.string(),
  target_branch: z.string(),
  task: z.string(),
  node: z.string(),
  created_at: z.string(),
  /** The conflicting files at that time. */
  files: z.array(z.string()),
});
export type Sentinel = z.infer<typeof Sentinel>;

/** The path of a plan's sentinel. Different slugs never share a file. */
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
    const problem = `${sentinelPath(slug)} is not a valid merge sentinel`;
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

/** The plan of a merge. */
export const mergeSlug = (input: StepInput, task: string): string =>
  argOf(input, 'slug', 'plan') ??
  input.context.slug ??
  withoutDraft(argOf(input, 'branch', 'source_branch', 'plan_branch') ?? input.context.branch) ??
  task;

/** The branch to merge; templates may name it in several ways. */
export const sourceBranchOf = (input: StepInput): string | undefined => {
  const named = argOf(input, 'branch', 'source_branch', 'plan_branch');
  if (named !== undefined) return named;
  const slug = argOf(input, 'slug', 'plan');
  if (slug !== undefined) return `draft/${slug}`;
  const { branch, slug: current } = input.context;
  return branch ?? (current === undefined ? undefined : `draft/${current}`);
};

/** The target branch: the given one, or the one that the repository has checked out. */
export const targetBranchOf = async (input: StepInput, tools: StageTools): Promise<string | undefined> =>
  argOf(input, 'target', 'target_branch') ?? (await tools.git(tools.repository.root).head()).branch;

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

const clear: RunStage = async (input, tools) => {
  const slug = mergeSlug(input, tools.about.task);
  await clearSentinelFile(tools.repository, slug);
  return succeeded(`removed ${sentinelPath(slug)}`, { outputs: { slug } });
};

export const clearSentinel: StageModule = { uses: 'cap.env.builtin.merge.sentinel.clear', run: clear };
