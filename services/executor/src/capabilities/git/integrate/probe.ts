import type { StepInput } from '@holdpoint/contracts/task/step';
import type { ProbeResult } from '../../../ports/capability.ts';
import { foundApplied, succeeded } from '../../stage/results.ts';
import type { StageTools } from '../../stage/tools.ts';
import { computeMerge } from './merge.ts';
import { MergePreview } from './preview.ts';
import { short } from './target.ts';

/** Its patch is on the target under another commit: merging would change nothing. */
const addsNothing = async (tools: StageTools, preview: MergePreview, at: string): Promise<boolean> => {
  const again = await computeMerge(tools, { ...preview, target_tip: at });
  return again.kind === 'already';
};

const found = ({ source, target, commit, slug, already }: MergePreview, sign: string): ProbeResult => {
  const reason = `${target} contains the merge: ${sign}`;
  const result = succeeded(`merged ${source} into ${target}; ${reason}`, {
    outputs: { commit, target, slug, already, source_deleted: false },
    context: { commit, target, slug },
  });
  return foundApplied(reason, result);
};

const unknown = (reason: string): ProbeResult => ({ found: 'unknown', reason });

/** Whether the previewed merge has happened, judged by the branches alone. */
export const probeIntegration = async (input: StepInput, tools: StageTools): Promise<ProbeResult> => {
  const parsed = MergePreview.safeParse(input.preview);
  if (!parsed.success) return unknown('it was ordered without a preview');
  const preview = parsed.data;
  const { source, source_tip, target, target_tip, commit, already } = preview;
  const git = tools.git(tools.repository.root);
  const at = await git.tip(target);
  if (at === undefined) return unknown(`branch ${target} no longer exists`);
  if (already) return found(preview, 'there was nothing to merge');
  if (at === commit) return found(preview, `it is at ${short(commit)}`);
  if (at === target_tip) return { found: 'not_applied', reason: `${target} has not moved` };
  for (const sign of [commit, source_tip]) {
    if ((await git.commitOf(sign)) !== undefined && (await git.isAncestor(sign, at)))
      return found(preview, `${short(sign)} is among its commits`);
  }
  if ((await git.commitOf(source_tip)) === undefined)
    return unknown(`${target} has moved, and ${short(source_tip)} of ${source} is gone`);
  return (await addsNothing(tools, preview, at))
    ? found(preview, 'merging it again would change nothing')
    : { found: 'not_applied', reason: `${target} has moved, and does not contain the merge` };
};
