import { commitWith, isElsewhere, messageOf } from './commit-step.ts';
import { failed, type RunStage, type StageModule } from '../../stage.ts';

/** Commits what is staged. */
const commit: RunStage = async (input, tools) => {
  const message = messageOf(input);
  if ('problem' in message) return failed(message.problem);
  const elsewhere = await isElsewhere(input, tools);
  return elsewhere === undefined ? commitWith(message.value, tools.git()) : failed(elsewhere);
};

export const gitCommit: StageModule = { uses: 'cap.env.builtin.git.commit', run: commit };
