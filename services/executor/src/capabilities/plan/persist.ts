import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { StepInput } from '@holdpoint/contracts/task/step';
import type { Git } from '../../adapters/git/git.ts';
import { moveBranch } from '../git/branches/checkout.ts';
import { editTree, writeBlob } from '../git/branches/tree.ts';
import { PLAN_FOLDERS, type Plan, planDocument, planIdOf, slugOf, slugOfSpec } from './plan-document.ts';
import { readInside } from '../prompt/resolve.ts';
import { argOf, invalid } from '../stage/arguments.ts';
import { failed, succeeded } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';

const SOURCES = ['inline', 'stdin', 'file'];
const TRIES = 5;

type ValueOrProblem<Value> = { readonly value: Value } | { readonly problem: string };

const specOf = async (input: StepInput, tools: StageTools): Promise<ValueOrProblem<string>> => {
  const source = argOf(input, 'spec_source') ?? 'inline';
  if (!SOURCES.includes(source))
    throw invalid(`with.spec_source: ${source}, expected one of ${SOURCES.join(', ')}`);
  const file = argOf(input, 'spec_file');
  // `spec_file` was read at submission, so that later edits change nothing.
  const text = argOf(input, 'spec_text');
  if (text !== undefined) return { value: text };
  if (file === undefined) throw invalid('with: no specification, expected spec_text or spec_file');
  try {
    return { value: await readInside({ ...tools, root: tools.repository.root }, file) };
  } catch (error) {
    if (error instanceof Error) return { problem: `spec_file ${file}: ${error.message}` };
    throw error;
  }
};

const bodyOf = (input: StepInput, spec: string): ValueOrProblem<string> => {
  const plans = Object.entries(input.payloads ?? {}).filter(([label]) =>
    label.startsWith('custom:plan_text:'),
  );
  if (plans.length > 1)
    throw invalid(`payloads: ${String(plans.length)} plans (plan_text), expected at most one`);
  const [plan] = plans;
  if (plan === undefined) return { value: argOf(input, 'plan_body', 'plan_text', 'content') ?? spec };
  const [label, { text }] = plan;
  if (typeof text !== 'string') throw invalid(`payloads: ${label} has no text`);
  return text.trim() === '' ? { problem: 'the plan is empty' } : { value: text };
};

const slugFor = (input: StepInput, spec: string): ValueOrProblem<string> => {
  const name = argOf(input, 'name_override', 'slug') ?? input.context.slug;
  const found = name === undefined || name.trim() === '' ? slugOfSpec(spec) : slugOf(name);
  return 'slug' in found ? { value: found.slug } : found;
};

const planIdFor = (input: StepInput, task: string, slug: string): string => {
  const given = argOf(input, 'plan_id');
  if (given !== undefined && !/^[A-Za-z0-9._-]{1,128}$/.test(given)) {
    throw invalid('with.plan_id: expected at most 128 letters, digits, dots, dashes and underscores');
  }
  return given ?? planIdOf(task, slug);
};

const planFor = async (input: StepInput, tools: StageTools): Promise<ValueOrProblem<Plan>> => {
  const spec = await specOf(input, tools);
  if ('problem' in spec) return spec;
  const body = bodyOf(input, spec.value);
  if ('problem' in body) return body;
  const slug = slugFor(input, spec.value);
  if ('problem' in slug) return slug;
  const branch = argOf(input, 'branch') ?? input.context.branch ?? `draft/${slug.value}`;
  const planId = planIdFor(input, tools.about.task, slug.value);
  return { value: { planId, slug: slug.value, branch, spec: spec.value, body: body.value } };
};

const exists = async (...path: readonly string[]): Promise<boolean> =>
  (await stat(join(...path)).catch(() => undefined)) !== undefined;

/** The plan folder of this repository. Other files of the executor under .holdpoint do not count as a layout. */
const planFolder = async (root: string): Promise<string> => {
  const own = ['config.toml', 'workflows', 'plans', 'gates'];
  const found = await Promise.all(own.map((name) => exists(root, '.holdpoint', name)));
  return !found.includes(true) && (await exists(root, '.vizier')) ? PLAN_FOLDERS[1] : PLAN_FOLDERS[0];
};

/** Readers see the old or the new plan, never a part. */
const writeWhole = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = join(dirname(path), `.${randomUUID()}.unfinished`);
  try {
    await writeFile(unfinished, text, { flag: 'wx', flush: true });
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
};

/** Commits a file to a branch without a checkout. Returns the commit of the branch, or the problem. */
const commitFile = async (
  tools: StageTools,
  branch: string,
  file: { readonly path: string; readonly text: string; readonly message: string },
): Promise<ValueOrProblem<string>> => {
  const git = tools.git(tools.repository.root);
  const id = await writeBlob(git, file.text);
  let why = '';
  for (let tries = 0; tries < TRIES; tries += 1) {
    const from = await git.tip(branch);
    if (from === undefined) return { problem: `branch ${branch} is gone` };
    const before = await git.treeOf(from);
    const tree = await editTree(git, before, [{ path: file.path, file: { mode: '100644', id } }]);
    if (tree === before) return { value: from };
    const to = await git.commitTree({ tree, parents: [from], message: file.message });
    const done = await moveBranch(tools, { branch, from, to });
    if (done.moved) return { value: to };
    ({ why } = done);
  }
  return { problem: why };
};

const ensureBranch = async (git: Git, branch: string): Promise<void> => {
  // False: another step has just created it, which is fine.
  if (!(await git.branchExists(branch))) await git.createBranch(branch);
};

/**
 * Writes the plan into the worktree of the task; without one, commits it to its branch. Never writes into a shared
 * checkout.
 */
const persist: RunStage = async (input, tools) => {
  const found = await planFor(input, tools);
  if ('problem' in found) return failed(found.problem);
  const { slug, branch, planId } = found.value;
  const path = `${await planFolder(tools.repository.root)}/${slug}.md`;
  const text = planDocument(found.value);
  await ensureBranch(tools.git(tools.repository.root), branch);
  const outputs = { slug, branch, plan_id: planId, path };
  const context = { slug, branch };
  if (tools.inWorktree) {
    await writeWhole(await tools.repository.inside(path, tools.root), text);
    return succeeded(`plan ${slug} is at ${path} in the worktree`, { outputs, context });
  }
  const written = await commitFile(tools, branch, { path, text, message: `docs: plan ${slug}` });
  if ('problem' in written) return failed(`plan ${slug} was not written: ${written.problem}`);
  const detail = `plan ${slug} is at ${path} on ${branch}`;
  return succeeded(detail, { outputs: { ...outputs, commit: written.value }, context });
};

export const persistPlan: StageModule = { uses: 'cap.env.builtin.plan.persist', run: persist };
