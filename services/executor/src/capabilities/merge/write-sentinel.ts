import { type RunStage, type StageModule, succeeded } from '../stage.ts';
import { mergeSlug, sourceBranchOf, targetBranchOf, writeSentinelFile } from './sentinel.ts';

/** Says that a merge waits for its conflicts. */
const write: RunStage = async (input, tools) => {
  const slug = mergeSlug(input, tools.about.task);
  const path = await writeSentinelFile(tools.repository, {
    slug,
    source_branch: sourceBranchOf(input) ?? `draft/${slug}`,
    target_branch: (await targetBranchOf(input, tools)) ?? '',
    task: tools.about.task,
    node: tools.about.node,
    created_at: new Date().toISOString(),
    files: [],
  });
  return succeeded(`wrote ${path}`, { outputs: { slug, path } });
};

export const writeSentinel: StageModule = { uses: 'cap.env.builtin.merge.sentinel.write', run: write };
