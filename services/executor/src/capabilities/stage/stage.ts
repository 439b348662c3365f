import { dirname, join } from 'node:path';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { beginAttempt } from '../../adapters/git/attempts.ts';
import { createGit, type Git } from '../../adapters/git/git.ts';
import type { ConfigMemo, GitParts } from '../../adapters/git/exec.ts';
import { GitError, GitStopped } from '../../adapters/git/git-error.ts';
import type { Environment } from '../../adapters/process/command-env.ts';
import type { Confinement } from '../../adapters/process/confinement.ts';
import {
  type CommandRequest,
  type CommandResult,
  runCommand,
  scriptArgv,
} from '../../adapters/process/run-command.ts';
import type { OutputStream } from '../../adapters/process/run-group.ts';
import type { Repositories, Repository } from '../../adapters/git/repositories.ts';
import type { WorkOf, ProcessRecords } from '../../adapters/process/process-records.ts';
import {
  type Capability,
  CleanFailure,
  type AppliedEffect,
  type EffectContext,
  OutcomeUnknown,
  type ProbeResult,
} from '../../ports/capability.ts';
import { declaredEnv, withoutSecrets } from './declared-env.ts';

/** The folder of task worktrees, relative to the repository. */
export const WORKTREES = '.holdpoint/worktrees';

export type StageParts = {
  readonly repositories: Repositories;
  readonly records: ProcessRecords;
  /** The environment of commands: see `commandEnv`. */
  readonly env: Environment;
  /** The agent command of nodes that name none. */
  readonly agentDefault?: readonly string[] | undefined;
  /** The confinement of step commands; git runs without it. Left out: only process groups. */
  readonly confinement?: Confinement | undefined;
};

export type ToolCommand = Partial<
  Pick<CommandRequest, 'cwd' | 'stdin' | 'timeoutMs' | 'outputMax' | 'graceMs' | 'onLine'>
> & {
  readonly argv: readonly string[];
  /** Additional variables. */
  readonly env?: Environment;
  /** Output is not published. */
  readonly quiet?: boolean;
  /** It also runs after the step was cancelled: for cleanup and for probes. */
  readonly anyway?: boolean;
};

export type StageTools = {
  readonly order: RunEffect;
  readonly effectId: string;
  readonly epoch: number;
  readonly about: WorkOf;
  /** True for a granted effect, which runs once; false for work, which may be repeated. */
  readonly isEffect: boolean;
  readonly signal: AbortSignal;
  readonly assertInForce: () => void;
  readonly repository: Repository;
  /** The working folder: the worktree of the step's context, else the repository. */
  readonly root: string;
  readonly inWorktree: boolean;
  readonly agentDefault: readonly string[] | undefined;
  /** Git in the step's root, or in another folder of the repository. `anyway`: also after the step was cancelled. */
  readonly git: (root?: string, options?: { readonly anyway?: boolean }) => Git;
  /** Options for git functions outside of `git`. */
  readonly gitParts: GitParts;
  /** Runs a command and publishes its output. `cwd` defaults to the step's root. */
  readonly command: (command: ToolCommand) => Promise<CommandResult>;
  readonly script: (script: string, options?: Omit<ToolCommand, 'argv'>) => Promise<CommandResult>;
  readonly log: (stream: OutputStream, line: string) => void;
};

export type RunStage = (input: StepInput, tools: StageTools) => Promise<StepResult>;

/** The time limit of a process whose node has none: one hour. */
const TIMEOUT_MS = 3_600_000;
/** Places in git's folder that name programs. */
const PROGRAMS_OF_GIT = ['hooks', 'config'];

/** A capability that works in a repository: one module each, listed in `stages.ts`. */
export type StageModule = {
  readonly uses: string;
  readonly run: RunStage;
  /** Shows what `run` would do. It only reads, so that nothing is restored before it. */
  readonly preview?: RunStage;
  /** Finds out whether the effect was applied; its outputs are those of a {@link StepResult}. */
  readonly probe?: (input: StepInput, tools: StageTools) => Promise<ProbeResult>;
  /** Undoes the effect. Returning means undone; every failure is thrown. */
  readonly compensate?: (done: AppliedEffect<StepInput>, tools: StageTools) => Promise<StepResult>;
  /** False for stages that create or remove worktrees, or only read: nothing is restored before a repeat. */
  readonly restores?: false;
  /** It starts a process that may run long and use much memory. */
  readonly startsProcess?: true;
};

/** The probe result of an applied effect. */
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

/** An argument as text; empty counts as not given. Numbers and booleans of TOML become texts. */
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

/** Creates the stage capabilities. One factory for all, so that a start knows the start before it. */
export const createStages = (parts: StageParts) => {
  const running = new Map<string, Running>();

  /** Waits for an earlier start in this process: its lease is over. */
  const alone = async (effectId: string): Promise<void> => {
    for (let before = running.get(effectId); before !== undefined; before = running.get(effectId)) {
      before.controller.abort('restarted');
      await before.done;
    }
  };

  const toolsFor = async (
    input: StepInput,
    context: EffectContext,
    signal: AbortSignal,
  ): Promise<StageTools> => {
    const { order, effectId, epoch, assertInForce, secrets, say } = context;
    if (input.repository === undefined) throw invalid('repository: missing');
    const repository = await parts.repositories.open(input.repository);
    const { root, inWorktree } = await executionRoot(repository, input.context.worktree);
    const { task, node } = order.effect;
    const about: WorkOf = { effectId, repository: repository.root, task, node, attempt: order.attempt };
    const env = { ...parts.env, ...parts.records.markOf(about) };
    const memo: ConfigMemo = new Map();
    const gitParts: GitParts = { env, signal, memo };
    const isEffect = order.effect.kind !== 'work';
    let declared: Environment | undefined;
    // Once for all scripts of a start: the probe after an effect sees the same secrets as the effect.
    const declaredOnce = (): Environment => (declared ??= declaredEnv(input, secrets, labelOf(order)));
    const command = async ({
      argv,
      cwd = root,
      env: more,
      quiet,
      anyway,
      onLine,
      ...rest
    }: ToolCommand): Promise<CommandResult> => {
      // An effect checks its lease itself, right before it begins.
      if (!isEffect) assertInForce();
      let group: number | undefined;
      try {
        return await runCommand({
          ...rest,
          cwd,
          timeoutMs: rest.timeoutMs ?? input.timeoutMs ?? TIMEOUT_MS,
          argv,
          env: { ...env, ...more },
          signal: anyway === true ? undefined : signal,
          hidden: secrets.hiddenStream,
          confinement: parts.confinement,
          access: {
            // A command in a temporary worktree changes that one alone.
            write: [cwd, repository.commonDir],
            // Git of the operator would run the programs that these name.
            keep: [repository.root, ...PROGRAMS_OF_GIT.map((name) => join(repository.commonDir, name))],
            network: isEffect,
          },
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
        // A command may have changed the configuration.
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
      tools.log('stderr', 'restored the worktree to its state before the interrupted attempt');
  };

  /** Runs in the step's root, as the only start of its effect in this process. */
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
      // A first start can have no leftovers, and the search is the slowest part of a short step.
      if (context.epoch > 1 || context.order.attempt > 1) await parts.records.endLeftovers(tools.about);
      if (restores && tools.inWorktree) await putBack(tools);
      const result = StepResult.parse(await work(tools));
      // An aborted step fails, which says nothing about it.
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

  /** Only reads: running processes stay, and nothing is restored. */
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

/** Maps an error of a step. For an effect only `CleanFailure` proves that nothing happened. */
const endedWith = (error: unknown, signal: AbortSignal, isEffect: boolean): JsonObject => {
  if (error instanceof CleanFailure || error instanceof OutcomeUnknown || isEffect) throw error;
  if (signal.aborted) throw interrupted();
  if (error instanceof GitError || error instanceof GitStopped)
    return JsonObject.parse(failed(error.message));
  throw error;
};

/** A compensation may use the secrets of its capability. */
const labelOf = ({ effect }: RunEffect): string => effect.uses.replace(/\.(preview|compensate)$/, '');

export const refusedWorktree = (worktree: string, problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', `worktree ${worktree} ${problem}`));

/** The repository itself, or one of its task worktrees. */
const executionRoot = async (
  repository: Repository,
  worktree: string | undefined,
): Promise<{ readonly root: string; readonly inWorktree: boolean }> => {
  if (worktree === undefined || worktree === '' || worktree === '.')
    return { root: repository.root, inWorktree: false };
  const root = await repository.inside(worktree);
  if (dirname(root) !== join(repository.root, WORKTREES))
    throw refusedWorktree(worktree, `is not in ${WORKTREES}`);
  return { root, inWorktree: true };
};

/** In a broken worktree git would use the surrounding repository, which is the operator's own checkout. */
export const checkWorktree = async (
  { git }: Pick<StageTools, 'git'>,
  repository: Repository,
  root: string,
): Promise<void> => {
  const found = (await git(repository.root).worktreeList()).find(({ path }) => path === root);
  if (found === undefined || found.prunable) throw refusedWorktree(root, 'does not exist any more');
  const common = await git(root).text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  if (common !== repository.commonDir) throw refusedWorktree(root, 'belongs to another repository');
};
