import type { ArtifactState, RegistryRequest, Job } from '@holdpoint/contracts/task/registry';
import type { DecisionBuilder } from './decision-builder.ts';
import { chunks } from './notify.ts';
import { recordable } from './reports.ts';
import {
  areAvailable,
  changesBetween,
  statusesOf,
  type ArtifactStatuses,
  artifactStatuses,
} from './artifact-states.ts';
import { isSameNode, jobIn, type ArtifactWatch } from './state.ts';

type Require = Extract<RegistryRequest, { readonly kind: 'require' }>;
type Report = Extract<RegistryRequest, { readonly kind: 'report' }>;

/** A watch expires after this. A waiting task renews it long before. */
export const WATCH_MS = 15 * 60_000;
export const WATCHES_MAX = 5_000;

/**
 * Limit for the notifications of one decision, which is committed as a whole. A watcher that was left out
 * asks again.
 */
export const NOTIFIED_MAX_BYTES = 8 * 1024 * 1024;

const notifyWatcher = (
  builder: DecisionBuilder,
  job: Job,
  artifactStates: readonly ArtifactState[],
): number => {
  let told = 0;
  for (const portion of chunks(artifactStates)) {
    builder.notify(job.task, {
      kind: 'artifacts',
      ...jobIn(job),
      artifactStates: [...portion.artifactStates],
    });
    told += portion.bytes;
  }
  return told;
};

const removeWatch = (builder: DecisionBuilder, watch: ArtifactWatch): void =>
  builder.emit({ type: 'artifact_watch_removed', ...jobIn(watch) });

export const removeExpiredWatches = (builder: DecisionBuilder): void => {
  for (const addWatch of builder.registry().watches) {
    if (addWatch.until <= builder.now) removeWatch(builder, addWatch);
  }
};

const isCurrentWatch = (watch: ArtifactWatch, job: Job, labels: readonly string[], now: number): boolean =>
  watch.attempt === job.attempt &&
  watch.until - now >= WATCH_MS / 2 &&
  watch.labels.length === labels.length &&
  labels.every((label) => watch.labels.includes(label));

const watch = (builder: DecisionBuilder, job: Job, labels: readonly string[]): void => {
  const { watches } = builder.registry();
  const known = watches.some((each) => isSameNode(each, job));
  const [oldest] = watches;
  if (!known && oldest !== undefined && watches.length >= WATCHES_MAX) removeWatch(builder, oldest);
  builder.emit({
    type: 'artifact_watch_added',
    ...jobIn(job),
    labels: [...labels],
    until: builder.now + WATCH_MS,
  });
};

export const requireArtifacts = (builder: DecisionBuilder, request: Require): void => {
  removeExpiredWatches(builder);
  const labels = [...new Set(request.labels)];
  const artifactStates = statusesOf(artifactStatuses(builder.registry(), labels), labels);
  const known = builder.registry().watches.find((each) => isSameNode(each, request));
  // An earlier attempt only gets a reply: the watch belongs to the later attempt.
  if (known === undefined || known.attempt <= request.attempt) {
    if (!areAvailable(artifactStates)) {
      if (known === undefined || !isCurrentWatch(known, request, labels, builder.now))
        watch(builder, request, labels);
    } else if (known !== undefined) removeWatch(builder, known);
  }
  notifyWatcher(builder, request, artifactStates);
};

const notifyChanges = (builder: DecisionBuilder, before: ArtifactStatuses): void => {
  const after = artifactStatuses(builder.registry(), before.keys());
  const changed = changesBetween(before, after);
  let told = 0;
  for (const each of builder.registry().watches) {
    if (told > NOTIFIED_MAX_BYTES) return;
    if (!each.labels.some((label) => changed.has(label))) continue;
    const artifactStates = statusesOf(after, each.labels);
    if (areAvailable(artifactStates)) removeWatch(builder, each);
    told += notifyWatcher(builder, each, artifactStates);
  }
};

export const reportArtifacts = (builder: DecisionBuilder, { task, serial, artifacts }: Report): void => {
  const known = builder.registry().reporters.find((each) => each.task === task)?.serial ?? 0;
  if (serial > known) {
    removeExpiredWatches(builder);
    const watched = builder.registry().watches.flatMap(({ labels }) => labels);
    const before = artifactStatuses(builder.registry(), watched);
    const kept = artifacts.map(recordable);
    builder.emit({ type: 'artifacts_reported', task, serial, artifacts: kept, at: builder.now });
    notifyChanges(builder, before);
  }
  builder.notify(task, { kind: 'reported', task, serial: Math.max(serial, known) });
};
