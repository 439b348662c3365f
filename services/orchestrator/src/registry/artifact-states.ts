import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { Registry } from './state.ts';

/** By label. A map, because a label may be any text. */
export type ArtifactStatuses = ReadonlyMap<string, ArtifactState>;

/** The state of each label: available, else pending, else failed, else unknown. */
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
      // The first producer by name, so that the order of reports makes no difference.
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
  // An unchanged payload is the same object and need not be serialised.
  (one.payload === other.payload || JSON.stringify(one.payload) === JSON.stringify(other.payload));

/** The labels whose state differs. */
export const changesBetween = (before: ArtifactStatuses, after: ArtifactStatuses): ReadonlySet<string> => {
  const changed = new Set<string>();
  for (const [label, standing] of after) {
    if (!isUnchanged(before.get(label), standing)) changed.add(label);
  }
  return changed;
};
