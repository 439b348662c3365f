import { access } from 'node:fs/promises';
import { planBranch } from '@holdpoint/contracts/workflow/artifact';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import type { Git } from '../../../adapters/git/git.ts';
import { PLAN_FOLDERS, slugOf } from '../../plan/plan-document.ts';
import { argOf } from '../../stage/arguments.ts';
import { failed, succeeded } from '../../stage/results.ts';
import type { RunStage, StageModule } from '../../stage/stage.ts';
import type { StageTools } from '../../stage/tools.ts';

const DEFAULT_MESSAGE = 'chore: workflow stage commit';
const SELECTOR = /^read_payload\(\s*(.*?)\s*\)$/s;

type ValueOrProblem<Value> = { readonly value: Value } | { readonly problem: string };

/** A relative path inside the repository. Git stages links themselves, not their targets. */
const isPlainPath = (path: string): boolean =>
  path !== '' &&
  !path.startsWith('/') &&
  !path.includes('\0') &&
  !path.split('/').some((part) => part === '..' || part.toLowerCase() === '.git');

const parseFiles = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const filesOf = ({ with: args }: StepInput): ValueOrProblem<readonly string[]> => {
  const given = args['files_json'];
  if (given === undefined || given === '') return { value: [] };
  const files: unknown = typeof given === 'string' ? parseFiles(given) : given;
  if (!Array.isArray(files) || !files.every((file): file is string => typeof file === 'string'))
    return { problem: 'files_json: expected an array of paths in JSON, such as ["src/a.ts"]' };
  const outside = files.find((file) => !isPlainPath(file));
  return outside === undefined
    ? { value: files }
    : { problem: `files_json: ${JSON.stringify(outside)} is not a path inside the repository` };
};

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The plan documents that the node produces. They are staged although their folder is ignored. */
const declaredPlans = async (
  input: StepInput,
  tools: StageTools,
): Promise<ValueOrProblem<readonly string[]>> => {
  const found: string[] = [];
  for (const artifact of input.produces ?? []) {
    if (artifact.type !== 'plan_doc') continue;
    const named = slugOf(artifact.slug === '' ? (input.context.slug ?? '') : artifact.slug);
    if ('problem' in named) return named;
    const { slug } = named;
    const paths = PLAN_FOLDERS.map((folder) => `${folder}/${slug}.md`);
    const there: string[] = [];
    for (const path of paths)
      if (await isThere(await tools.repository.inside(path, tools.root))) there.push(path);
    if (there.length === 0)
      return {
        problem: `the plan document of ${planBranch({ slug, branch: artifact.branch })} is missing: expected ${paths.join(' or ')}`,
      };
    found.push(...there);
  }
  return { value: found };
};

export const stageDeclared = async (
  input: StepInput,
  tools: StageTools,
  git: Git,
): Promise<ValueOrProblem<readonly string[]>> => {
  const plans = await declaredPlans(input, tools);
  if ('value' in plans) await git.stage(plans.value, { force: true });
  return plans;
};

/** Why a commit in the worktree would not reach the node's branch, for users. */
export const isElsewhere = async (
  { context: { worktree, branch } }: StepInput,
  tools: StageTools,
): Promise<string | undefined> => {
  if (!tools.inWorktree || branch === undefined) return undefined;
  const { branch: current } = await tools.git().head();
  if (current === branch) return undefined;
  const where = current === undefined ? 'on no branch' : `on ${current}`;
  return `nothing was committed: ${worktree ?? tools.root} is ${where}, expected ${branch}. Another run may have taken over the branch`;
};

export const commitWith = async (message: string, git: Git): Promise<StepResult> => {
  const commit = await git.commit(message);
  if (commit === undefined) return succeeded('nothing to commit', { outputs: { committed: false } });
  const { branch } = await git.head();
  const subject = message.split('\n', 1)[0] ?? '';
  return succeeded(`committed ${commit.slice(0, 12)} on ${branch ?? 'no branch'}: ${subject}`, {
    outputs: { committed: true, commit, ...(branch !== undefined && { branch }) },
  });
};

export const messageOf = (input: StepInput): ValueOrProblem<string> => {
  const given = argOf(input, 'message', 'commit_message') ?? DEFAULT_MESSAGE;
  const selector = SELECTOR.exec(given.trim())?.[1];
  const found = selector === undefined ? { value: given } : payloadText(input, selector);
  if ('problem' in found) return found;
  const text = found.value.replaceAll('\0', '\uFFFD').trim();
  return text === '' ? { problem: 'the commit message is empty' } : { value: `${text}\n` };
};

/** The text of a payload, named by the type, the key, or both of its artifact. */
const payloadText = ({ payloads = {} }: StepInput, selector: string): ValueOrProblem<string> => {
  const labels = Object.keys(payloads).filter((label) => {
    const [, type = '', key = ''] = /^custom:([^:]*):(.*)$/s.exec(label) ?? [];
    return selector !== '' && [type, key, `${type}:${key}`].includes(selector);
  });
  const [label] = labels;
  if (label === undefined) return { problem: `read_payload(${selector}): the node needs no such artifact` };
  if (labels.length > 1) return { problem: `read_payload(${selector}): ambiguous: ${labels.join(', ')}` };
  const text = payloads[label]?.['text'];
  return typeof text === 'string'
    ? { value: text }
    : { problem: `read_payload(${selector}): ${label} has no text` };
};

/** Stages the named files and the declared plan documents. */
const stage: RunStage = async (input, tools) => {
  const files = filesOf(input);
  if ('problem' in files) return failed(files.problem);
  const git = tools.git();
  await git.stage(files.value);
  const plans = await stageDeclared(input, tools, git);
  if ('problem' in plans) return failed(plans.problem);
  const staged = [...files.value, ...plans.value];
  return succeeded(staged.length === 0 ? 'nothing to stage' : `staged ${staged.join(', ')}`, {
    outputs: { staged },
  });
};

export const gitStage: StageModule = { uses: 'cap.env.builtin.git.stage', run: stage };

const commit: RunStage = async (input, tools) => {
  const message = messageOf(input);
  if ('problem' in message) return failed(message.problem);
  const elsewhere = await isElsewhere(input, tools);
  return elsewhere === undefined ? commitWith(message.value, tools.git()) : failed(elsewhere);
};

export const gitCommit: StageModule = { uses: 'cap.env.builtin.git.commit', run: commit };

/** Stages all changes and the declared plan documents, and commits. */
const stageAndCommit: RunStage = async (input, tools) => {
  const message = messageOf(input);
  if ('problem' in message) return failed(message.problem);
  const elsewhere = await isElsewhere(input, tools);
  if (elsewhere !== undefined) return failed(elsewhere);
  const git = tools.git();
  await git.stage('all');
  const plans = await stageDeclared(input, tools, git);
  return 'problem' in plans ? failed(plans.problem) : commitWith(message.value, git);
};

export const gitStageCommit: StageModule = { uses: 'cap.env.builtin.git.stage_commit', run: stageAndCommit };
