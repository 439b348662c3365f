import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { join } from 'node:path';
import type { ConfigMemo, GitParts } from '../../adapters/git/exec.ts';
import { createGit, type Git } from '../../adapters/git/git.ts';
import type { Repositories, Repository } from '../../adapters/git/repositories.ts';
import type { Environment } from '../../adapters/process/command-env.ts';
import type { Confinement } from '../../adapters/process/confinement.ts';
import type { ProcessRecords, WorkOf } from '../../adapters/process/process-records.ts';
import {
  type CommandRequest,
  type CommandResult,
  runCommand,
  scriptArgv,
} from '../../adapters/process/run-command.ts';
import type { OutputStream } from '../../adapters/process/run-group.ts';
import type { EffectContext } from '../../ports/capability.ts';
import { invalid } from './arguments.ts';
import { declaredEnv, withoutSecrets } from './declared-env.ts';
import { executionRoot } from './worktree.ts';

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

/** The time limit of a process whose node has none: one hour. */
const TIMEOUT_MS = 3_600_000;
/** Places in git's folder that name programs. */
const PROGRAMS_OF_GIT = ['hooks', 'config'];

/** The tools of a step, for one start of its effect. */
export const toolsFor = async (
  parts: StageParts,
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

/** A compensation may use the secrets of its capability. */
const labelOf = ({ effect }: RunEffect): string => effect.uses.replace(/\.(preview|compensate)$/, '');
