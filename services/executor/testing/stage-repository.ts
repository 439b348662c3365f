import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { commandEnv } from '../src/adapters/process/command-env.ts';
import { createRepositories } from '../src/adapters/git/repositories.ts';
import { createProcessRecords } from '../src/adapters/process/process-records.ts';
import type { Capability, EffectContext } from '../src/ports/capability.ts';
import type { StageParts } from '../src/capabilities/stage/tools.ts';
import { stageCapabilities } from '../src/capabilities/stages.ts';
import { contextFor } from './context.ts';
import { effectOf, orderFor } from './orders.ts';
import { scratchFolder } from './scratch.ts';

/** Where programs are on this machine, as a shell that is started here says it. */
const PATH = execFileSync('/bin/sh', ['-c', 'printf %s "$PATH"'], { encoding: 'utf8' });

/** The environment of test commands. The empty home excludes personal git configuration. */
export const testEnv = (home: string) => commandEnv({ PATH, HOME: home, LANG: 'C.UTF-8' });

/** A repository with one commit on `main`, in a folder of its own. */
export const stageRepository = async () => {
  const scratch = await scratchFolder();
  const root = join(scratch.path, 'repository');
  const state = join(scratch.path, 'state');
  const home = join(scratch.path, 'home');
  for (const folder of [root, state, home]) mkdirSync(folder);
  const env = testEnv(home);
  /** Git as an operator would run it. */
  const git = (...argv: readonly string[]): string =>
    execFileSync('git', [...argv], { cwd: root, env: { ...env }, encoding: 'utf8', stdio: 'pipe' }).trimEnd();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Ada');
  git('config', 'user.email', 'ada@example.org');
  write('a.txt', 'one\n');
  git('add', '--all');
  git('commit', '--quiet', '--message=first');
  return {
    ...scratch,
    root,
    state,
    env,
    git,
    write,
    read: (path: string): string => readFileSync(join(root, path), 'utf8'),
    has: (path: string): boolean => existsSync(join(root, path)),
    partsFor: (change: Partial<StageParts> = {}): StageParts => ({
      repositories: createRepositories([scratch.path], env),
      records: createProcessRecords(state),
      env,
      ...change,
    }),
  };
};

export type StageRepository = Awaited<ReturnType<typeof stageRepository>>;

export type Ordered = {
  readonly input?: Partial<StepInput>;
  readonly kind?: RunEffect['effect']['kind'];
  readonly key?: string;
  readonly node?: string;
  readonly epoch?: number;
  readonly signal?: AbortSignal;
  readonly assertInForce?: () => void;
  readonly lines?: string[];
  readonly secrets?: EffectContext['secrets'];
};

/** What one step is begun with, as the runner would begin it. */
export const startOf = (
  { uses }: Pick<Capability, 'uses'>,
  repository: string,
  ordered: Ordered = {},
): { readonly input: StepInput; readonly context: EffectContext } => {
  const { input = {}, kind = 'work', key = 'key', node = 'node', epoch = 1 } = ordered;
  const order = orderFor(effectOf({ uses, idempotencyKey: key, kind, node: node as never }));
  const context = contextFor({
    effectId: order.id,
    order,
    epoch,
    ...(ordered.signal && { signal: ordered.signal }),
    ...(ordered.secrets && { secrets: ordered.secrets }),
    ...(ordered.assertInForce && { assertInForce: ordered.assertInForce }),
    say: (_stream, line) => void ordered.lines?.push(line),
  });
  return { input: StepInput.parse({ with: {}, context: {}, repository, ...input }), context };
};

/** Carries out one step as the runner would. */
export const carryOut = async (
  capability: Pick<Capability, 'uses' | 'run'>,
  repository: string,
  ordered: Ordered = {},
): Promise<StepResult> => {
  const { input, context } = startOf(capability, repository, ordered);
  return StepResult.parse(await capability.run(input, context));
};

/** Every stage by its label, as one executor has them. */
export const capabilitiesOf = (repository: StageRepository, change: Partial<StageParts> = {}) => {
  const all = stageCapabilities(repository.partsFor(change));
  return (uses: string): Capability => {
    const found = all.find((capability) => capability.uses === uses);
    if (found === undefined) throw new Error(`nothing is called ${uses}`);
    return found;
  };
};

/** Carries out a stage by its label. */
export const stagesOf = (repository: StageRepository, change: Partial<StageParts> = {}) => {
  const named = capabilitiesOf(repository, change);
  return (uses: string, ordered: Ordered = {}): Promise<StepResult> =>
    carryOut(named(uses), repository.root, ordered);
};
