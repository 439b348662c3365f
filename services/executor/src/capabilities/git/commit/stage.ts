import { filesOf, stageDeclared } from './commit-step.ts';
import { failed, type RunStage, type StageModule, succeeded } from '../../stage.ts';

/** Stages the files that are named, and the plan documents that the node declares. */
const stage: RunStage = async (input, tools) => {
  const files = filesOf(input);
  if ('problem' in files) return failed(files.problem);
  const git = tools.git();
  await git.stage(files.value);
  const plans = await stageDeclared(input, tools, git);
  if ('problem' in plans) return failed(plans.problem);
  const staged = [...files.value, ...plans.value];
  return succeeded(staged.length === 0 ? 'nothing to stage' : `staged ${staged.join(', ')}`, {
    outputs: { staged },
  });
};

export const gitStage: StageModule = { uses: 'cap.env.builtin.git.stage', run: stage };
