import { access, appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { isBranchName } from '../../adapters/git/ref-name.ts';
import type { Repository } from '../../adapters/git/repositories.ts';
import { argOf } from '../stage/arguments.ts';
import { failed, succeeded } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { WORKTREES } from '../stage/worktree.ts';
import { takeOver } from './takeover.ts';

const EXCLUDED = [`/${WORKTREES}/`, '/.holdpoint/tmp/'];
/** Marks a completely written worktree, in its git folder. */
const READY = 'holdpoint-ready';
const PURPOSE_MAX = 40;

/** Excludes the files of tasks from `git status`, in a file that is not committed. */
export const keepOutOfStatus = async ({ commonDir }: Pick<Repository, 'commonDir'>): Promise<void> => {
  const path = join(commonDir, 'info', 'exclude');
  await mkdir(dirname(path), { recursive: true });
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split(/\r?\n/);
  const missing = EXCLUDED.filter((line) => !lines.includes(line));
  if (missing.length === 0) return;
  const start = text === '' || text.endsWith('\n') ? '' : '\n';
  await appendFile(path, `${start}${missing.join('\n')}\n`);
};

/** The limit of the task context. */
const SLUG_MAX = 256;

type BranchRequest = { readonly branch: string; readonly slug: string | undefined };

const wantedBy = (input: StepInput): BranchRequest | undefined => {
  const { context } = input;
  const named = argOf(input, 'branch') ?? context.branch;
  const slug = argOf(input, 'slug', 'plan') ?? context.slug;
  if (named !== undefined) return { branch: named, slug: slug ?? /^draft\/(.+)$/s.exec(named)?.[1] };
  return slug === undefined ? undefined : { branch: `draft/${slug}`, slug };
};

/** One folder for each node of a task; more when a node, such as one with items, uses several branches. */
const placesFor = (input: StepInput, { about }: StageTools, branch: string): readonly string[] => {
  const purpose = (argOf(input, 'purpose') ?? '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, PURPOSE_MAX);
  const name = `${purpose === '' ? 'work' : purpose}-${about.task}-${about.node}`;
  return [name, `${name}-${sha256Of(branch).slice(0, 8)}`].map((folder) => `${WORKTREES}/${folder}`);
};

/** Creates a worktree for the task on its branch. A new branch starts at HEAD. */
const prepare: RunStage = async (input, tools) => {
  const wanted = wantedBy(input);
  if (wanted === undefined) return failed('no branch given: expected branch, slug or plan');
  if ((wanted.slug ?? '').length > SLUG_MAX)
    return failed(`the slug is longer than ${String(SLUG_MAX)} characters`);
  const { branch, slug } = wanted;
  if (!isBranchName(branch)) return failed(`${JSON.stringify(branch)} is not a valid branch name`);
  const { repository } = tools;
  await keepOutOfStatus(repository);
  const git = tools.git(repository.root);
  const made = (await git.branchExists(branch)) ? false : await git.createBranch(branch);
  for (const worktree of placesFor(input, tools, branch)) {
    const place = await repository.inside(worktree);
    // When several nodes want the branch at once, the last gets it.
    const { found, others } = await alone(`${repository.commonDir}#${branch}`, async () => {
      const there = await alone(place, () => ensureAt(tools, place, branch));
      return { found: there, others: there === 'taken' ? [] : await takeOver(tools, branch, place) };
    });
    if (found === 'taken') continue;
    const said = [
      `${found === 'reused' ? 'reused the worktree' : 'created a worktree'}: ${worktree} on ${branch}${made ? ' (new branch)' : ''}`,
      ...others.map((other) => `${other} is no longer on ${branch}`),
    ];
    const commit = await git.tip(branch);
    return succeeded(said.join('; '), {
      context: { worktree, branch, ...(slug !== undefined && { slug }) },
      outputs: {
        worktree,
        branch,
        ...(slug !== undefined && { slug }),
        ...(commit !== undefined && { commit }),
        reused: found === 'reused',
      },
    });
  }
  return failed(`the worktree of ${tools.about.node} is on another branch than ${branch}`);
};

export const prepareWorktree: StageModule = {
  uses: 'cap.env.builtin.worktree.prepare',
  run: prepare,
  restores: false,
};

/** Items of a node may use the same folder at once. */
const working = new Map<string, Promise<unknown>>();
const alone = async <Result>(place: string, work: () => Promise<Result>): Promise<Result> => {
  const before = working.get(place) ?? Promise.resolve();
  const mine = before.then(work, work);
  working.set(place, mine);
  try {
    return await mine;
  } finally {
    if (working.get(place) === mine) working.delete(place);
  }
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const ensureAt = async (
  tools: StageTools,
  place: string,
  branch: string,
): Promise<'made' | 'reused' | 'taken'> => {
  const git = tools.git(tools.repository.root);
  const there = (await git.worktreeList()).find(({ path }) => path === place);
  if (there !== undefined && !there.prunable) {
    if (await exists(await readyMark(tools, place))) {
      const { branch: current } = await tools.git(place).head();
      return current === branch ? 'reused' : 'taken';
    }
    // Its creation was interrupted, so that no step has worked in it.
    await git.worktreeRemove(place);
  }
  await mkdir(dirname(place), { recursive: true });
  await git.worktreeAdd(place, { branch });
  await writeFile(await readyMark(tools, place), '');
  return 'made';
};

const readyMark = async ({ git }: StageTools, place: string): Promise<string> =>
  join(await git(place).text(['rev-parse', '--absolute-git-dir']), READY);
