import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { Registry } from './state.ts';

/** By label. Map and not object: a label may be anything. */
export type ArtifactStatuses = ReadonlyMap<string, ArtifactState>;

/** How each of these stands: made, else still to come, else failed, else nobody knows of it. */
export const artifactStatuses = (
  { reporters, made }: Registry,
  labels: Iterable<string>,
): ArtifactStatuses => {
  const found = new Map<string, ArtifactState>();
  for (const label of labels) found.set(label, { label, state: 'missing' });
  for (const { task, failed } of reporters) {
    for (const { label, node } of failed) {
      if (found.has(label)) found.set(label, { label, state: 'failed', by: jobOf(task, node) });
    }
  }
  for (const { task, coming } of reporters) {
    for (const { label, node } of coming) {
      const by = jobOf(task, node);
      const known = found.get(label);
      // Of several the first by name, and not the one that happened to report last: nothing has changed by that.
      if (known === undefined || (known.state === 'pending' && (known.by ?? '') <= by)) continue;
      found.set(label, { label, state: 'pending', by });
    }
  }
  for (const { label, task, node, payload } of made) {
    if (!found.has(label)) continue;
    found.set(label, { label, state: 'available', by: jobOf(task, node), ...(payload && { payload }) });
  }
  return found;
};

export const statusesOf = (
  artifactStates: ArtifactStatuses,
  labels: readonly string[],
): readonly ArtifactState[] =>
  labels.map((label) => artifactStates.get(label) ?? { label, state: 'missing' });

export const areAvailable = (artifactStates: readonly ArtifactState[]): boolean =>
  artifactStates.every(({ state }) => state === 'available');

const isUnchanged = (one: ArtifactState | undefined, other: ArtifactState): boolean =>
  one?.state === other.state &&
  one.by === other.by &&
  // A payload that nobody has touched is the same object, and need not be written out.
  (one.payload === other.payload || JSON.stringify(one.payload) === JSON.stringify(other.payload));

/** The labels that do not stand as they did. */
export const changesBetween = (before: ArtifactStatuses, after: ArtifactStatuses): ReadonlySet<string> => {
  const changed = new Set<string>();
  for (const [label, standing] of after) {
    if (!isUnchanged(before.get(label), standing)) changed.add(label);
  }
  return changed;
};
