import { z } from 'zod';

const name = z.string().min(1).max(256);

/**
 * An artifact that a node needs or produces. Custom artifacts of the types `prompt_text`, `plan_text` and
 * `operation_output` belong to the run; other custom ones to the run first, then to its repository; all
 * others are properties of the repository.
 */
export const Artifact = z.discriminatedUnion('type', [
  z.object({ type: z.literal('plan_branch'), slug: z.string().max(256), branch: z.string().max(256) }),
  z.object({ type: z.literal('plan_doc'), slug: z.string().max(256), branch: z.string().max(256) }),
  z.object({ type: z.literal('plan_commits'), slug: z.string().max(256), branch: z.string().max(256) }),
  z.object({ type: z.literal('target_branch'), name }),
  z.object({ type: z.literal('merge_sentinel'), slug: name }),
  z.object({ type: z.literal('custom'), typeId: name, key: name }),
]);
export type Artifact = z.infer<typeof Artifact>;

/** Visibility of an artifact: its run, all runs of the repository, or the repository's content. */
export type ArtifactScope = 'run' | 'shared' | 'repository';

const OF_THE_RUN: ReadonlySet<string> = new Set(['prompt_text', 'plan_text', 'operation_output']);

export const scopeOf = (artifact: Artifact): ArtifactScope => {
  if (artifact.type !== 'custom') return 'repository';
  return OF_THE_RUN.has(artifact.typeId) ? 'run' : 'shared';
};

/** Branch of a plan: the named one, or `draft/<slug>`. */
export const planBranch = ({ slug, branch }: { readonly slug: string; readonly branch: string }): string =>
  branch === '' ? `draft/${slug}` : branch;

/** Unique label of an artifact, as shown to users. */
export const artifactLabel = (artifact: Artifact): string => {
  switch (artifact.type) {
    case 'plan_branch':
    case 'plan_doc':
    case 'plan_commits':
      return `${artifact.type}:${artifact.slug} (${planBranch(artifact)})`;
    case 'target_branch':
      return `target_branch:${artifact.name}`;
    case 'merge_sentinel':
      return `merge_sentinel:${artifact.slug}`;
    case 'custom':
      return `custom:${artifact.typeId}:${artifact.key}`;
  }
};
