import type { StepInput } from '@holdpoint/contracts/step';
import type { Capability } from './capability.ts';
import { cicdGate } from './cicd.ts';
import { gitCommit, gitStage, gitStageCommit } from './git-commit.ts';
import { inspectRepository } from './inspect.ts';
import { runShell } from './shell.ts';
import type { Stages } from './stage.ts';
import { stopCondition } from './stop-condition.ts';
import { prepareWorktree } from './worktree.ts';
import { cleanUpWorktree } from './worktree-cleanup.ts';

/** What works in a repository by itself: worktrees, commits, scripts and gates. */
export const repositoryStages = ({ capability }: Stages): readonly Capability<typeof StepInput>[] => [
  capability('cap.env.builtin.worktree.prepare', prepareWorktree, { restores: false }),
  capability('cap.env.builtin.worktree.cleanup', cleanUpWorktree, { restores: false }),
  capability('cap.env.builtin.git.stage', gitStage),
  capability('cap.env.builtin.git.commit', gitCommit),
  capability('cap.env.builtin.git.stage_commit', gitStageCommit),
  capability('cap.env.shell.command.run', runShell),
  capability('cap.env.shell.cicd.run', runShell),
  capability('control.gate.stop_condition', stopCondition),
  capability('control.gate.cicd', cicdGate),
  capability('cap.env.builtin.repository.inspect', inspectRepository, { restores: false }),
];
