import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import type { Git } from '../../../adapters/git/git.ts';
import { isCommitId } from '../../../adapters/git/ref-name.ts';
import { argOf, invalid } from '../../stage/arguments.ts';
import { failed, succeeded } from '../../stage/results.ts';
import type { RunStage, StageModule } from '../../stage/stage.ts';
import type { StageTools } from '../../stage/tools.ts';
import { commitsBetween } from './commit-list.ts';
import { commitWith, isElsewhere, messageOf } from './commit-step.ts';

const DEFAULT_MESSAGE = 'wip: hand-off to the next session';
const FILES_MAX = 200;
const COMMITS_MAX = 20;

/** The base of the branch: the given one, or the merge base with the checked-out branch. */
const baseOf = async (input: StepInput, tools: StageTools, git: Git): Promise<string | undefined> => {
  const named = argOf(input, 'base');
  if (named !== undefined && !isCommitId(named))
    throw invalid(`with.base: ${JSON.stringify(named)} is not a commit id`);
  if (named !== undefined) return git.commitOf(named);
  const { commit } = await tools.git(tools.repository.root).head();
  if (commit === undefined) return undefined;
  const found = await git.text(['merge-base', '--end-of-options', commit, 'HEAD'], { answers: [0, 1] });
  return isCommitId(found) ? found : undefined;
};

/** A summary for the next session: changed files and commits. */
const summaryOf = async (
  input: StepInput,
  tools: StageTools,
): Promise<{ readonly files: string[]; readonly log: string[] }> => {
  const git = tools.git();
  const { commit: head } = await git.head();
  if (head === undefined) return { files: [], log: [] };
  const base = await baseOf(input, tools, git);
  const diff = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-commit-id', '--root'];
  const files = await git.list([...diff, ...(base === undefined ? [] : [base]), head, '--']);
  const commits = base === undefined ? [] : await commitsBetween(git, base, head, COMMITS_MAX);
  return { files: files.slice(0, FILES_MAX), log: commits.map(({ subject }) => subject) };
};

const commitAll = async (input: StepInput, tools: StageTools): Promise<StepResult> => {
  const given =
    argOf(input, 'message') === undefined ? { ...input.with, message: DEFAULT_MESSAGE } : input.with;
  const message = messageOf({ ...input, with: given });
  if ('problem' in message) return failed(message.problem);
  const elsewhere = await isElsewhere(input, tools);
  if (elsewhere !== undefined) return failed(elsewhere);
  const git = tools.git();
  await git.stage('all');
  return commitWith(message.value, git);
};

/** Commits the unfinished work of a session for the next one. */
const handOff: RunStage = async (input, tools) => {
  const made = tools.inWorktree
    ? await commitAll(input, tools)
    : succeeded('nothing was committed: the shared checkout may contain changes of others', {
        outputs: { committed: false },
      });
  if (made.outcome !== 'succeeded') return made;
  return { ...made, outputs: { ...made.outputs, ...(await summaryOf(input, tools)) } };
};

export const gitHandoff: StageModule = { uses: 'cap.env.builtin.git.handoff', run: handOff };
