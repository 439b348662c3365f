import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json } from '@holdpoint/contracts/values/json';
import { StepContext, StepInput } from '@holdpoint/contracts/task/step';
import { CleanFailure } from '@holdpoint/executor/ports/capability';
import { createHandlerRegistry } from '@holdpoint/executor/ports/handler-registry';
import { stageCapabilities } from '@holdpoint/executor/capabilities/stages';
import {
  carryOut,
  type StageRepository,
  stageRepository,
} from '@holdpoint/executor/testing/stage-repository';
import fc from 'fast-check';
import { nastyText } from '../hostile/strings.ts';
import { keepsErrorSmall, keepsPrototypesClean } from '../promises.ts';
import { target } from '../target.ts';
import { type Text, textOf } from '../text.ts';

type Named = Readonly<Record<string, Text>>;
type Input = {
  readonly uses: string;
  readonly with: Named;
  readonly context: Named;
  readonly artifacts: readonly Named[];
};

/** Stages that run no script of a template: here input is only data. */
const STAGES = [
  'cap.env.builtin.worktree.prepare',
  'cap.env.builtin.worktree.cleanup',
  'cap.env.builtin.prompt.resolve',
  'cap.env.builtin.plan.persist',
  'cap.env.builtin.git.stage',
  'cap.env.builtin.git.commit',
  'cap.env.builtin.git.stage_commit',
  'cap.env.builtin.git.integrate_plan_branch',
  'cap.env.builtin.git.integrate_plan_branch.preview',
  'cap.env.builtin.merge.sentinel.write',
  'cap.env.builtin.merge.sentinel.clear',
  'cap.env.builtin.repository.inspect',
];

/** Names that git, a shell or the file system would misread. */
const NAMES = [
  'draft/a',
  'a',
  'main',
  'HEAD',
  '@',
  '@{-1}',
  'main~1',
  'main..a',
  '-b',
  '--upload-pack=touch pwned',
  '--output=pwned',
  '$(touch pwned)',
  '`touch pwned`',
  'a;touch pwned',
  'refs/heads/main',
  'refs/../../x',
  'a.lock',
  'a/.b',
  'a//b',
  '/etc/passwd',
  '../outside.txt',
  '../../outside.txt',
  '.git/config',
  '.git/hooks/pre-commit',
  '.holdpoint/worktrees/../../.git',
  '.holdpoint/worktrees/work-t-1-node',
  '..',
  '.',
  ':/',
  ':(exclude)a.txt',
  'a.txt',
  '*',
  'con',
  'ä'.repeat(120),
];
const FILES_JSON = [
  '["a.txt"]',
  '["../outside.txt"]',
  '["/etc/passwd"]',
  '[".git/config"]',
  '[":/"]',
  '["-A"]',
  '[1]',
  '{}',
  '[',
  '["a\\u0000b"]',
  '[]',
];
const PROMPTS = [
  'plain',
  '{{file:a.txt}}',
  '{{file:../outside.txt}}',
  '{{file:/etc/passwd}}',
  '{{file:.git/config}}',
  '{{x.y}}',
  '{{__proto__.x}}',
  '{{',
];

const name: fc.Arbitrary<Text> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Text>('draft/a', 'a') },
  { weight: 5, arbitrary: fc.constantFrom<Text>(...NAMES, { repeat: 'long/', times: 60 }) },
  { weight: 1, arbitrary: nastyText },
);
const args = fc.record(
  {
    branch: name,
    source_branch: name,
    slug: name,
    plan: name,
    plan_id: name,
    name_override: name,
    target_branch: name,
    purpose: name,
    message: fc.oneof(fc.constant<Text>('a message'), nastyText, name),
    files_json: fc.constantFrom<Text>(...FILES_JSON),
    spec_text: fc.oneof(fc.constantFrom<Text>('do it'), nastyText),
    spec_file: name,
    spec_source: fc.constantFrom<Text>('inline', 'file', 'other'),
    plan_body: fc.oneof(fc.constantFrom<Text>('a plan'), nastyText),
    prompt_text: fc.constantFrom<Text>(...PROMPTS),
    prompt_file: name,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Named>;
const place = { branch: name, slug: name, target: name, commit: name };
const context = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: fc.record(place, { requiredKeys: [] }) },
  { weight: 1, arbitrary: fc.record({ ...place, worktree: name }, { requiredKeys: [] }) },
) as fc.Arbitrary<Named>;
const artifact = fc.oneof(
  fc.record({ type: fc.constantFrom('plan_branch', 'plan_doc', 'plan_commits'), slug: name, branch: name }),
  fc.record({ type: fc.constant('target_branch'), name }),
  fc.record({ type: fc.constant('merge_sentinel'), slug: name }),
);

let repository: Promise<StageRepository> | undefined;
const OUTSIDE = 'outside.txt';
const repositoryOf = async (): Promise<StageRepository> => {
  repository ??= stageRepository();
  const made = await repository;
  writeFileSync(join(made.path, OUTSIDE), 'outside');
  return made;
};

const texts = (named: Named): Record<string, Json> =>
  Object.fromEntries(Object.entries(named).map(([key, text]) => [key, textOf(text)]));

/** Everything that no stage may change. */
const untouched = ({ path, root, git }: StageRepository): unknown => ({
  folders: readdirSync(path).toSorted(),
  outside: readFileSync(join(path, OUTSIDE), 'utf8'),
  config: readFileSync(join(root, '.git', 'config'), 'utf8'),
  hooks: readdirSync(join(root, '.git', 'hooks')).toSorted(),
  head: git('symbolic-ref', 'HEAD'),
});

const isPwned = ({ path, root }: StageRepository): boolean =>
  [path, root, join(root, '.git')].some((folder) => readdirSync(folder).includes('pwned'));

/** Any arguments give a valid result or a refusal with a code, and no side effect. */
export const steps = target<Input>({
  name: 'steps',
  runs: 60,
  reaches: ['succeeded', 'failed', 'EXECUTOR_INVALID_ARGUMENTS', 'EXECUTOR_PATH_REFUSED'],
  cases: {
    'stages in a repository': fc.record({
      uses: fc.constantFrom(...STAGES),
      with: args,
      context,
      artifacts: fc.array(artifact as fc.Arbitrary<Named>, { maxLength: 2 }),
    }),
  },
  check: async ({ uses, with: given, context: found, artifacts }) => {
    const there = await repositoryOf();
    const capability = createHandlerRegistry(stageCapabilities(there.partsFor())).get(uses);
    if (capability === undefined) throw new Error(`nothing is called ${uses}`);
    const input = StepInput.safeParse({
      with: texts(given),
      repository: there.root,
      context: texts(found),
      artifacts: artifacts.map(texts),
      produces: [{ type: 'custom', typeId: 'prompt_text', key: 'k' }],
    });
    if (!input.success) return 'CONTRACT_INVALID';
    const before = untouched(there);
    try {
      const kind = uses.endsWith('integrate_plan_branch') ? 'merge' : 'work';
      const result = await carryOut(capability, there.root, {
        input: input.data,
        kind,
      });
      const changes = Object.entries(result.context ?? {}).filter(([, value]) => value !== null);
      assert.ok(StepContext.safeParse(Object.fromEntries(changes)).success);
      return result.outcome;
    } catch (error) {
      if (!(error instanceof CleanFailure)) throw error;
      keepsErrorSmall(error.body);
      return error.body.code;
    } finally {
      keepsPrototypesClean();
      assert.deepEqual(untouched(there), before);
      assert.ok(!isPwned(there));
    }
  },
  end: async () => {
    await (await repository)?.remove();
    repository = undefined;
  },
});
