import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { Notification } from '@holdpoint/contracts/task/registry';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { notifyTask, PEERS_TIMER, REPORT_TIMER } from '../outgoing/outgoing.ts';
import { releaseLocks } from '../outgoing/registry-requests.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { peerResult } from '../graph/ending.ts';
import { peerName } from '../evolve/evolve.ts';
import { inspectRepository } from '../graph/start-when-ready.ts';
import { retryAfterVerdict, refuseVerdict } from './on-verdict.ts';
import { onRollbackEnded, nodeInRollback } from './rollback.ts';
import { rollbackEnded } from '../outgoing/withdraw.ts';
import { endOf, findNode, nodeDefinition, nodeState } from '../model/state.ts';

type NotificationOf<Kind extends Notification['kind']> = Extract<Notification, { readonly kind: Kind }>;

/** A notification from the registry or another task. */
export const onNotification = (builder: DecisionBuilder, notification: Notification): void => {
  switch (notification.kind) {
    case 'locks':
      return locksGranted(builder, notification);
    case 'reported':
      if (notification.serial >= builder.task().reportSerial) builder.timer({ clear: REPORT_TIMER });
      return undefined;
    case 'artifacts':
      return artifactsKnown(builder, notification);
    case 'peer':
      return peerEnded(builder, notification);
  }
};

/** Locks that the node no longer needs are released at once. */
const locksGranted = (
  builder: DecisionBuilder,
  { node, attempt, acquired, waitingFor }: NotificationOf<'locks'>,
): void => {
  const state = findNode(builder.task(), node);
  const current = state !== undefined && state.attempt === attempt && state.locks !== undefined;
  if (!current) {
    if (acquired) builder.send(releaseLocks(builder.task(), node, attempt, builder.now));
    return;
  }
  if (state.locks === 'held') return;
  if (!acquired) {
    const detail = `waiting for ${waitingFor.slice(0, 5).join(', ') || 'its turn'}`;
    if (state.wait?.detail !== detail)
      builder.emit({ type: 'node_waiting', node, attempt, wait: { kind: 'locks', detail } });
    return;
  }
  builder.emit({ type: 'locks_acquired', node, attempt });
  builder.enqueue([node]);
};

const artifactsKnown = (
  builder: DecisionBuilder,
  { node, attempt, artifactStates }: NotificationOf<'artifacts'>,
): void => {
  const state = findNode(builder.task(), node);
  if (state?.attempt !== attempt || state.status !== 'waiting') return;
  const known = new Map((state.artifactStates ?? []).map((standing) => [standing.label, standing]));
  for (const standing of artifactStates) {
    // An available artifact stays available: an older reply may come late.
    if (known.get(standing.label)?.state !== 'available') known.set(standing.label, standing);
  }
  const merged = [...known.values()];
  if (state.artifactStates !== undefined && digestOf(merged) === digestOf(state.artifactStates)) return;
  builder.emit({ type: 'artifacts_updated', node, attempt, artifactStates: merged });
  // The artifact may be in the repository by now.
  const seen = state.inspected?.artifacts ?? {};
  const missing = (nodeDefinition(builder.task(), node).needs ?? []).some(
    (artifact) => scopeOf(artifact) === 'repository' && seen[artifactLabel(artifact)] === false,
  );
  if (missing) inspectRepository(builder, node);
  else builder.enqueue([node]);
};

const peerEnded = (builder: DecisionBuilder, { peer, node, outcome }: NotificationOf<'peer'>): void => {
  const name = peerName({ peer, node });
  const { peers, definition } = builder.task();
  if (outcome !== 'unknown' && node === undefined) rollbackEnded(builder, peer);
  const waiting = nodeInRollback(builder.task(), peer);
  if (waiting !== undefined && node === undefined)
    onRollbackEnded(builder, waiting, outcome, { again: retryAfterVerdict, refuse: refuseVerdict });
  if (peers[name] !== null) return;
  builder.emit({ type: 'peer_ended', peer, outcome, ...(node !== undefined && { node }) });
  if (Object.values(builder.task().peers).every((ended) => ended !== null))
    builder.timer({ clear: PEERS_TIMER });
  builder.enqueue(
    definition.nodes.flatMap(({ id }) => (nodeState(builder.task(), id).status === 'waiting' ? [id] : [])),
  );
};

type WatchRequest = { readonly id: TaskId; readonly watcher: TaskId; readonly node?: NodeId | undefined };

const watchAnswer = (
  { id, watcher, node }: WatchRequest,
  outcome: Outcome | 'unknown',
  at: number,
  gave: ReturnType<typeof peerResult> = {},
): Outgoing =>
  notifyTask(watcher, `peer.${id}.${node ?? ''}.${outcome}.${String(at)}`, {
    kind: 'peer',
    task: watcher,
    peer: id,
    outcome,
    ...(node !== undefined && { node }),
    ...gave,
  });

/** Answers the watcher of a task that does not exist. */
export const watchAbsent = (watch: WatchRequest, outcome: 'unknown' | 'cancelled', now: number): Outgoing =>
  watchAnswer(watch, outcome, now);

/** Replies when this task or the node has ended; else records the watcher. */
export const onWatch = (builder: DecisionBuilder, watch: WatchRequest): void => {
  const task = builder.task();
  const { node, watcher } = watch;
  const state = node === undefined ? undefined : findNode(task, node);
  const outcome = node === undefined ? task.outcome : state === undefined ? 'unknown' : endOf(state);
  if (outcome !== undefined)
    return builder.send(watchAnswer(watch, outcome, builder.now, node === undefined ? peerResult(task) : {}));
  const known = task.watchers.some((each) => each.task === watcher && each.node === node);
  if (!known) builder.emit({ type: 'watcher_added', watcher, ...(node !== undefined && { node }) });
};
