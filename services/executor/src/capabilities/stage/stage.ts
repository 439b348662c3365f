import { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { beginAttempt } from '../../adapters/git/attempts.ts';
import { GitError, GitStopped } from '../../adapters/git/git-error.ts';
import {
  type AppliedEffect,
  type Capability,
  CleanFailure,
  type EffectContext,
  OutcomeUnknown,
  type ProbeResult,
} from '../../ports/capability.ts';
import { failed } from './results.ts';
import { type StageParts, type StageTools, toolsFor } from './tools.ts';
import { checkWorktree } from './worktree.ts';

export type RunStage = (input: StepInput, tools: StageTools) => Promise<StepResult>;

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

type Running = { readonly controller: AbortController; readonly done: Promise<unknown> };

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
      const tools = await toolsFor(parts, input, context, signal);
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
    const tools = await toolsFor(parts, input, context, context.signal);
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
