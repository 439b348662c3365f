import { type RunStage, type StageModule, succeeded } from '../stage.ts';
import { clearSentinelFile, mergeSlug, sentinelPath } from './sentinel.ts';

/** Says that it waits no more. */
const clear: RunStage = async (input, tools) => {
  const slug = mergeSlug(input, tools.about.task);
  await clearSentinelFile(tools.repository, slug);
  return succeeded(`there is no ${sentinelPath(slug)} any more`, { outputs: { slug } });
};

export const clearSentinel: StageModule = { uses: 'cap.env.builtin.merge.sentinel.clear', run: clear };
