import { dirname, join } from 'node:path';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { beginAttempt } from '../adapters/git/attempts.ts';
import { createGit, type Git } from '../adapters/git/git.ts';
import type { ConfigMemo, GitParts } from '../adapters/git/exec.ts';
import { GitError, GitStopped } from '../adapters/git/git-error.ts';
import type { Environment } from '../adapters/process/command-env.ts';
import type { Confinement } from '../adapters/process/confinement.ts';
import {
  type CommandRequest,
  type CommandResult,
  runCommand,
  scriptArgv,
} from '../adapters/process/run-command.ts';
import type { OutputStream } from '../adapters/process/run-group.ts';
import type { Repositories, Repository } from '../adapters/git/repositories.ts';
import type { WorkOf, WorkRecords } from '../adapters/process/process-records.ts';
import {
  type Capability,
  CleanFailure,
  type AppliedEffect,
  type EffectContext,
  OutcomeUnknown,
  type ProbeResult,
} from '../ports/capability.ts';
import { declaredEnv, withoutSecrets } from './shell/declared-env.ts';

/** Of the repository, where the worktrees of tasks are. */
export const WORKTREES = '.holdpoint/worktrees';

export type StageParts = {
  readonly repositories: Repositories;
  readonly records: WorkRecords;
  /** What commands see: see `commandEnv`. */
  readonly env: Environment;
  /** The command that runs the agent of a node that names none. */
  readonly agentDefault?: readonly string[] | undefined;
  /** How the programs of steps are bounded; git is not among them. Without it by their process group alone. */
  readonly confinement?: Confinement | undefined;
};

export type ToolCommand = Partial<
  Pick<CommandRequest, 'cwd' | 'stdin' | 'timeoutMs' | 'outputMax' | 'graceMs' | 'onLine'>
> & {
  readonly argv: readonly string[];
  /** Beside what commands see anyway. */
  readonly env?: Environment;
  /** Nothing is shown to whoever watches. */
  readonly quiet?: boolean;
  /** It is run to its end though the step is called off: for what has to be found out, or tidied up, all the same. */
  readonly anyway?: boolean;
};

/** What a stage capability works with. */
export type StageTools = {
  readonly order: RunEffect;
  readonly effectId: string;
  readonly epoch: number;
  readonly about: WorkOf;
  /** It was granted, and is carried out once; otherwise it is work, which may be repeated. */
  readonly isEffect: boolean;
  readonly signal: AbortSignal;
  readonly assertInForce: () => void;
  readonly repository: Repository;
  /** Where the step works: the worktree of its context, else the repository. */
  readonly root: string;
  readonly inWorktree: boolean;
  readonly agentDefault: readonly string[] | undefined;
  /** Git in the step's root, or elsewhere in the repository. `anyway`: though the step is called off. */
  readonly git: (root?: string, options?: { readonly anyway?: boolean }) => Git;
  /** What git is run with, for what is not done through `git`. */
  readonly gitParts: GitParts;
  /** Runs a program; every line is shown. In the step's root, when `cwd` is left out. */
  readonly command: (command: ToolCommand) => Promise<CommandResult>;
  /** Runs a shell script in the same way. */
  readonly script: (script: string, options?: Omit<ToolCommand, 'argv'>) => Promise<CommandResult>;
  readonly log: (stream: OutputStream, line: string) => void;
};

export type RunStage = (input: StepInput, tools: StageTools) => Promise<StepResult>;

/** A capability that works in a repository: one module each, found in the list of `stages.ts`. */
export type StageModule = {
  readonly uses: string;
  readonly run: RunStage;
  /** Shows what `run` would do. It only looks, so that nothing is put back before it. */
  readonly preview?: RunStage;
  /** Looks whether the effect was applied; its outputs are those of a {@link StepResult}. */
  readonly probe?: (input: StepInput, tools: StageTools) => Promise<ProbeResult>;
  /** Takes back what was done. Returning means that it was taken back: whatever fails is thrown. */
  readonly compensate?: (done: AppliedEffect<StepInput>, tools: StageTools) => Promise<StepResult>;
  /** False for what makes or takes away worktrees, or only looks: nothing is put back before it is repeated. */
  readonly restores?: false;
  /** It runs a program of somebody else's, for as long and with as much memory as that takes. */
  readonly startsPrograms?: true;
};

/** What an effect that was found to have been applied is recorded with. */
export const foundApplied = (reason: string, result: StepResult): ProbeResult => ({
  found: 'applied',
  reason,
  outputs: JsonObject.parse(result),
});

type Running = { readonly controller: AbortController; readonly done: Promise<unknown> };

const DETAIL_MAX = 2_000;
const detailOf = (text: string): string =>
  text.slice(0, DETAIL_MAX).toWellFormed().replaceAll('\0', '\uFFFD');

export const succeeded = (
  detail?: string,
  more: Omit<StepResult, 'outcome' | 'detail'> = {},
): StepResult => ({
  outcome: 'succeeded',
  ...(detail !== undefined && { detail: detailOf(detail) }),
  ...more,
});
export const failed = (detail: string, more: Omit<StepResult, 'outcome' | 'detail'> = {}): StepResult => ({
  outcome: 'failed',
  exitCode: 1,
  detail: detailOf(detail),
  ...more,
});
export const blocked = (detail: string, more: Omit<StepResult, 'outcome' | 'detail'> = {}): StepResult => ({
  outcome: 'blocked',
  exitCode: 10,
  detail: detailOf(detail),
  ...more,
});

/** An argument as text; empty counts as left out. TOML's own numbers and booleans are texts here. */
export const argOf = (input: StepInput, ...names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = Object.hasOwn(input.with, name) ? input.with[name] : undefined;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
};

export const invalid = (problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_INVALID_ARGUMENTS', problem));

/** Makes the capabilities of stages. All of them are made by one factory, so that a start knows of the one before it. */
export const createStages = (parts: StageParts) => {
  const running = new Map<string, Running>();

  /** An earlier start in this process ends before the next begins: its lease is over, whatever it believes. */
  const alone = async (effectId: string): Promise<void> => {
    for (let before = running.get(effectId); before !== undefined; before = running.get(effectId)) {
      before.controller.abort('started again');
      await before.done;
    }
  };

  const toolsFor = async (
    input: StepInput,
    context: EffectContext,
    signal: AbortSignal,
  ): Promise<StageTools> => {
    const { order, effectId, epoch, assertInForce, secrets, say } = context;
    if (input.repository === undefined) throw invalid('repository: missing, the step works in one');
    const repository = await parts.repositories.open(input.repository);
    const { root, inWorktree } = await executionRoot(repository, input.context.worktree);
    const { task, node } = order.effect;
    const about: WorkOf = { effectId, repository: repository.root, task, node, attempt: order.attempt };
    const env = { ...parts.env, ...parts.records.markOf(about) };
    const memo: ConfigMemo = new Map();
    const gitParts: GitParts = { env, signal, memo };
    const isEffect = order.effect.kind !== 'work';
    let declared: Environment | undefined;
    // Once for all scripts of a start: what could be filled in before an effect is there for the probe after it.
    const declaredOnce = (): Environment => (declared ??= declaredEnv(input, secrets, labelOf(order)));
    const command = async ({
      argv,
      env: more,
      quiet,
      anyway,
      onLine,
      ...rest
    }: ToolCommand): Promise<CommandResult> => {
      // An effect leaves once, and its capability knows when.
      if (!isEffect) assertInForce();
      let group: number | undefined;
      try {
        return await runCommand({
          cwd: root,
          ...rest,
          argv,
          env: { ...env, ...more },
          signal: anyway === true ? undefined : signal,
          hidden: secrets.hiddenStream,
          confinement: parts.confinement,
          onLine: (stream, line) => {
            if (quiet !== true) say(stream, line);
            onLine?.(stream, line);
          },
          began: async (started) => {
            group = started;
            await parts.records.began(about, started);
          },
        });
      } finally {
        // It may have changed the configuration.
        memo.clear();
        if (group !== undefined) await parts.records.ended(about, group);
      }
    };
    return {
      order,
      effectId,
      epoch,
      about,
      isEffect,
      signal,
      assertInForce,
      repository,
      root,
      inWorktree,
      agentDefault: parts.agentDefault,
      git: (where = root, { anyway = false } = {}) =>
        createGit(repository, anyway ? { env, memo } : gitParts, where),
      gitParts,
      command,
      script: async (script, options) =>
        command({
          ...options,
          argv: scriptArgv(withoutSecrets(script)),
          env: { ...declaredOnce(), ...options?.env },
        }),
      log: say,
    };
  };

  const putBack = async (tools: StageTools): Promise<void> => {
    const { repository, root, isEffect, effectId, gitParts } = tools;
    await checkWorktree(tools, repository, root);
    if (isEffect) return;
    const begun = await beginAttempt({ root, parts: gitParts }, effectId, new Set(running.keys()));
    if (begun === 'restored')
      tools.log('stderr', 'the worktree was put back to how it was before the attempt that was interrupted');
  };

  /** Does something in the step's root, as the one start of its effect in this process. */
  const start = async (
    input: StepInput,
    context: EffectContext,
    work: (tools: StageTools) => Promise<StepResult>,
    restores: boolean,
  ): Promise<JsonObject> => {
    await alone(context.effectId);
    const controller = new AbortController();
    const signal = AbortSignal.any([context.signal, controller.signal]);
    const isEffect = context.order.effect.kind !== 'work';
    const begin = async (): Promise<JsonObject> => {
      const tools = await toolsFor(input, context, signal);
      // Of what starts for the first time nothing can be left; looking for it is what costs most of a short step.
      if (context.epoch > 1 || context.order.attempt > 1) await parts.records.endLeftovers(tools.about);
      if (restores && tools.inWorktree) await putBack(tools);
      const result = StepResult.parse(await work(tools));
      // What is told to end fails: that says nothing of the step.
      if (signal.aborted && !isEffect && result.outcome !== 'succeeded') throw interrupted();
      return JsonObject.parse(result);
    };
    const done = begin().catch((error: unknown) => endedWith(error, signal, isEffect));
    const entry: Running = { controller, done: done.catch(() => undefined) };
    running.set(context.effectId, entry);
    try {
      return await done;
    } finally {
      if (running.get(context.effectId) === entry) running.delete(context.effectId);
    }
  };

  /** A look changes nothing: what is still under way is let alone, and nothing is put back. */
  const look = async <Result>(
    input: StepInput,
    context: EffectContext,
    work: (tools: StageTools) => Promise<Result>,
    needsWorktree: boolean,
  ): Promise<Result> => {
    const tools = await toolsFor(input, context, context.signal);
    if (needsWorktree && tools.inWorktree) await checkWorktree(tools, tools.repository, tools.root);
    return work(tools);
  };

  const capability = (module: StageModule): Capability<typeof StepInput> => {
    const { uses, run, preview, probe, compensate } = module;
    const restores = module.restores !== false;
    return {
      uses,
      input: StepInput,
      run: (input, context) => start(input, context, (tools) => run(input, tools), restores),
      ...(preview && {
        preview: (input, context) => start(input, context, (tools) => preview(input, tools), false),
      }),
      ...(probe && {
        probe: (input, context) => look(input, context, (tools) => probe(input, tools), restores),
      }),
      ...(compensate && {
        compensate: (done, context) =>
          start(done.input, context, (tools) => compensate(done, tools), restores),
      }),
    };
  };
  return { capability };
};

export type Stages = ReturnType<typeof createStages>;

const interrupted = (): OutcomeUnknown => new OutcomeUnknown('it was interrupted');

/** What an error of a step comes to. Of an effect only `CleanFailure` says for certain that nothing happened. */
const endedWith = (error: unknown, signal: AbortSignal, isEffect: boolean): JsonObject => {
  if (error instanceof CleanFailure || error instanceof OutcomeUnknown || isEffect) throw error;
  if (signal.aborted) throw interrupted();
  if (error instanceof GitError || error instanceof GitStopped)
    return JsonObject.parse(failed(error.message));
  throw error;
};

/** What secrets are allowed for: taking an effect back is no other use. */
const labelOf = ({ effect }: RunEffect): string => effect.uses.replace(/\.(preview|compensate)$/, '');

export const refusedWorktree = (worktree: string, problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', `the worktree ${worktree} ${problem}`));

/** Work is done in the repository itself, or in a worktree that was made for a task, and nowhere else. */
const executionRoot = async (
  repository: Repository,
  worktree: string | undefined,
): Promise<{ readonly root: string; readonly inWorktree: boolean }> => {
  if (worktree === undefined || worktree === '' || worktree === '.')
    return { root: repository.root, inWorktree: false };
  const root = await repository.inside(worktree);
  if (dirname(root) !== join(repository.root, WORKTREES))
    throw refusedWorktree(worktree, `is not one of those in ${WORKTREES}`);
  return { root, inWorktree: true };
};

/** Where a worktree is none any more, git would go on to the repository around it, which is the operator's own checkout. */
export const checkWorktree = async (
  { git }: Pick<StageTools, 'git'>,
  repository: Repository,
  root: string,
): Promise<void> => {
  const found = (await git(repository.root).worktreeList()).find(({ path }) => path === root);
  if (found === undefined || found.prunable) throw refusedWorktree(root, 'is not there any more');
  const common = await git(root).text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  if (common !== repository.commonDir) throw refusedWorktree(root, 'belongs to another repository');
};
