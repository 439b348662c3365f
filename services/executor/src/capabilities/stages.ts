import type { Capability } from '../ports/capability.ts';
import { invokeAgent } from './agent/invoke.ts';
import { cicdGate } from './checks/cicd.ts';
import { resolveConflict } from './checks/conflict.ts';
import { stopCondition } from './checks/stop-condition.ts';
import { gitCommit, gitStage, gitStageCommit } from './git/commit/commit-step.ts';
import { integratePlanBranch } from './git/integrate/integrate.ts';
import { gitHandoff } from './git/commit/handoff.ts';
import { gitRollback } from './git/rollback/rollback.ts';
import { clearSentinel, writeSentinel } from './merge/sentinel.ts';
import { persistPlan } from './plan/persist.ts';
import { promptFromScript, promptFromText } from './prompt/resolve.ts';
import { inspectRepository } from './repository/inspect.ts';
import { shellCicd, shellCommand } from './shell/command.ts';
import { createStages, type StageModule } from './stage/stage.ts';
import type { StageParts } from './stage/tools.ts';
import { cleanUpWorktree } from './worktree/cleanup.ts';
import { prepareWorktree } from './worktree/prepare.ts';

/** All stages that work in a repository. */
export const STAGES: readonly StageModule[] = [
  prepareWorktree,
  cleanUpWorktree,
  promptFromText,
  promptFromScript,
  invokeAgent,
  persistPlan,
  gitStage,
  gitCommit,
  gitStageCommit,
  integratePlanBranch,
  gitRollback,
  gitHandoff,
  shellCommand,
  shellCicd,
  writeSentinel,
  clearSentinel,
  inspectRepository,
  stopCondition,
  resolveConflict,
  cicdGate,
];

/** A preview only reads. The compensation of a script is a script. */
const STARTS_PROCESS: ReadonlySet<string> = new Set(
  STAGES.filter((stage) => stage.startsProcess === true).flatMap(({ uses, compensate }) =>
    compensate === undefined ? [uses] : [uses, `${uses}.compensate`],
  ),
);

/** Whether a step starts a process that may run long and use much memory. */
export const startsProcess = (uses: string): boolean => STARTS_PROCESS.has(uses);

export const stageCapabilities = (parts: StageParts): readonly Capability[] =>
  STAGES.map(createStages(parts).capability);
