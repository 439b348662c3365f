import type { StepInput } from '@holdpoint/contracts/step';
import { invokeAgent } from './agent.ts';
import type { Capability } from './capability.ts';
import { resolveConflict } from './conflict.ts';
import { integratePlanBranch } from './integrate.ts';
import { previewIntegration } from './integrate-preview.ts';
import { persistPlan } from './plan.ts';
import { resolvePrompt } from './prompt.ts';
import { repositoryStages } from './repository-stages.ts';
import { clearSentinel, writeSentinel } from './sentinel.ts';
import { createStages, type StageParts, type Stages } from './stage.ts';

const STARTS_PROGRAMS: ReadonlySet<string> = new Set([
  'cap.agent.invoke',
  'cap.env.shell.command.run',
  'cap.env.shell.cicd.run',
  'cap.env.shell.prompt.resolve',
  'control.gate.stop_condition',
  'control.gate.conflict_resolution',
  'control.gate.cicd',
]);

/** Whether a step runs a program of somebody else's, for as long and with as much memory as that takes. */
export const startsPrograms = (uses: string): boolean => STARTS_PROGRAMS.has(uses);

/** From the prompt to the merged plan. */
const planStages = ({ capability }: Stages): readonly Capability<typeof StepInput>[] => [
  capability('cap.env.builtin.prompt.resolve', resolvePrompt),
  capability('cap.env.shell.prompt.resolve', resolvePrompt),
  capability('cap.agent.invoke', invokeAgent),
  capability('cap.env.builtin.plan.persist', persistPlan),
  capability('cap.env.builtin.git.integrate_plan_branch', integratePlanBranch),
  capability('cap.env.builtin.git.integrate_plan_branch.preview', previewIntegration, { restores: false }),
  capability('cap.env.builtin.merge.sentinel.write', writeSentinel),
  capability('cap.env.builtin.merge.sentinel.clear', clearSentinel),
  // It works in a worktree of its own, and the branch that it has moved stays where it is.
  capability('control.gate.conflict_resolution', resolveConflict, { restores: false }),
];

/** Everything that works in a repository. */
export const stageCapabilities = (parts: StageParts): readonly Capability[] => {
  const stages = createStages(parts);
  return [...repositoryStages(stages), ...planStages(stages)];
};
