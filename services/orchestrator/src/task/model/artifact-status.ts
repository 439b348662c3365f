import { type Artifact, artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { hasEnded, nodeDefinition, nodeState, outcomeOf, type Task } from './state.ts';
import { labelsMadeBy, workflowIndex } from './workflow-index.ts';

/** The availability of an artifact that a node needs. */
export type ArtifactStatus =
  | { readonly kind: 'there' }
  /** A node of this run, or another task, may still make it. */
  | { readonly kind: 'pending'; readonly by: string }
  | { readonly kind: 'failed'; readonly by: string }
  | { readonly kind: 'missing' }
  /** The registry or the repository must be queried first. */
  | { readonly kind: 'unknown' };

/** The last node of this run that has made the artifact. */
export const producerOf = (task: Task, label: string): NodeId | undefined =>
  workflowIndex(task.definition)
    .producers.get(label)
    ?.findLast((id) => {
      const outcome = outcomeOf(nodeState(task, id));
      return outcome !== undefined && labelsMadeBy(nodeDefinition(task, id), outcome).includes(label);
    });

const statusInRun = (task: Task, node: NodeId, label: string): ArtifactStatus | undefined => {
  const producers = (workflowIndex(task.definition).producers.get(label) ?? []).filter((id) => id !== node);
  if (producers.length === 0) return undefined;
  if (producerOf(task, label) !== undefined) return { kind: 'there' };
  const open = producers.find((id) => !hasEnded(nodeState(task, id)));
  return open === undefined
    ? { kind: 'failed', by: `${task.id}/${String(producers.at(-1))}` }
    : { kind: 'pending', by: `${task.id}/${open}` };
};

const statusInRegistry = (task: Task, node: NodeId, label: string): ArtifactStatus => {
  const standing = nodeState(task, node).artifactStates?.find((each) => each.label === label);
  if (standing === undefined) return { kind: 'unknown' };
  const { state, by = 'another task' } = standing;
  switch (state) {
    case 'available':
      return { kind: 'there' };
    case 'pending':
    case 'failed':
      return { kind: state, by };
    case 'missing':
      return { kind: 'missing' };
  }
};

/** Looks in this order: this run, the repository, the other tasks of the repository. */
export const artifactStatus = (task: Task, node: NodeId, artifact: Artifact): ArtifactStatus => {
  const label = artifactLabel(artifact);
  const here = statusInRun(task, node, label);
  const scope = scopeOf(artifact);
  if (here?.kind === 'there' || here?.kind === 'pending') return here;
  if (scope === 'run' || task.repository === undefined) return here ?? { kind: 'missing' };
  if (scope === 'repository') {
    const seen = nodeState(task, node).inspected?.artifacts[label];
    if (seen === undefined) return { kind: 'unknown' };
    if (seen) return { kind: 'there' };
    const board = statusInRegistry(task, node, label);
    // It existed once and is gone, so it counts as missing.
    return board.kind === 'there' ? { kind: 'missing' } : board;
  }
  const board = statusInRegistry(task, node, label);
  return board.kind === 'missing' && here !== undefined ? here : board;
};

/** Whether the first missing artifact must come from another node of this run. */
export const waitsForOwnRun = (task: Task, node: NodeId): boolean => {
  const { wait, orders } = nodeState(task, node);
  if (wait?.kind !== 'artifacts' || orders !== undefined) return false;
  const first = (nodeDefinition(task, node).needs ?? []).find(
    (artifact) => artifactStatus(task, node, artifact).kind !== 'there',
  );
  return first !== undefined && statusInRun(task, node, artifactLabel(first))?.kind === 'pending';
};

/** The labels that this run does not make, or failed to make: others may know them. */
export const outsideNeeds = (task: Task, node: NodeId): readonly string[] =>
  (nodeDefinition(task, node).needs ?? []).flatMap((artifact) => {
    const label = artifactLabel(artifact);
    const here = statusInRun(task, node, label);
    const own = scopeOf(artifact) === 'run' || here?.kind === 'there' || here?.kind === 'pending';
    return own ? [] : [label];
  });
