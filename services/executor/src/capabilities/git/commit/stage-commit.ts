import { commitWith, isElsewhere, messageOf, stageDeclared } from './commit-step.ts';
import { failed, type RunStage, type StageModule } from '../../stage.ts';

/** Stages everything, the plan documents that the node declares among it, and commits. */
const stageAndCommit: RunStage = async (input, tools) => {
  const message = messageOf(input);
  if ('problem' in message) return failed(message.problem);
  const elsewhere = await isElsewhere(input, tools);
  if (elsewhere !== undefined) return failed(elsewhere);
  const git = tools.git();
  await git.stage('all');
  const plans = await stageDeclared(input, tools, git);
  return 'problem' in plans ? failed(plans.problem) : commitWith(message.value, git);
};

export const gitStageCommit: StageModule = { uses: 'cap.env.builtin.git.stage_commit', run: stageAndCommit };
