import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { Information } from '@holdpoint/contracts/task/registry';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { inform, PEERS_TIMER, releaseLocks, REPORT_TIMER } from '../outgoing/outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';
import { endNode, gaveOf } from '../graph/ending.ts';
import { peerOf } from '../model/evolve.ts';
import { look } from '../graph/start-when-ready.ts';
import { again, refuseVerdict } from './on-verdict.ts';
import { rolledBack, waitsForRollback } from './rollback.ts';
import { rollbackOver } from '../outgoing/withdraw.ts';
import { endOf, findNode, nodeDefinition, nodeState } from '../model/state.ts';

type About<Kind extends Information['about']> = Extract<Information, { readonly about: Kind }>;

/** What the board of the repository, or another task, lets this one know. */
export const informed = (draft: Draft, information: Information): void => {
  switch (information.about) {
    case 'locks':
      return locksGranted(draft, information);
    case 'reported':
      if (information.serial >= draft.task().reportSerial) draft.timer({ clear: REPORT_TIMER });
      return undefined;
    case 'artifacts':
      return artifactsKnown(draft, information);
    case 'peer':
      return peerEnded(draft, information);
  }
};

/** Whoever does not need what it holds gives it back: so nothing stays locked that was asked for in vain. */
const locksGranted = (draft: Draft, { node, attempt, held, behind }: About<'locks'>): void => {
  const state = findNode(draft.task(), node);
  const current = state !== undefined && state.attempt === attempt && state.locks !== undefined;
  if (!current) {
    if (held) draft.send(releaseLocks(draft.task(), node, attempt, draft.now));
    return;
  }
  if (state.locks === 'held') return;
  if (!held) {
    const detail = `waiting for ${behind.slice(0, 5).join(', ') || 'its turn'}`;
    if (state.wait?.detail !== detail)
      draft.emit({ type: 'node_waiting', node, attempt, wait: { kind: 'locks', detail } });
    return;
  }
  draft.emit({ type: 'locks_acquired', node, attempt });
  draft.touch([node]);
};

const artifactsKnown = (draft: Draft, { node, attempt, standings }: About<'artifacts'>): void => {
  const state = findNode(draft.task(), node);
  if (state?.attempt !== attempt || state.status !== 'waiting') return;
  const known = new Map((state.standings ?? []).map((standing) => [standing.label, standing]));
  for (const standing of standings) {
    // What was there once is not taken back by an older answer that was overtaken.
    if (known.get(standing.label)?.state !== 'made') known.set(standing.label, standing);
  }
  const merged = [...known.values()];
  if (state.standings !== undefined && digestOf(merged) === digestOf(state.standings)) return;
  draft.emit({ type: 'artifacts_updated', node, attempt, standings: merged });
  // What was not in the repository may be there by now.
  const seen = state.inspected?.artifacts ?? {};
  const missing = (nodeDefinition(draft.task(), node).needs ?? []).some(
    (artifact) => scopeOf(artifact) === 'repository' && seen[artifactLabel(artifact)] === false,
  );
  if (missing) look(draft, node);
  else draft.touch([node]);
};

const peerEnded = (draft: Draft, { peer, node, outcome }: About<'peer'>): void => {
  const name = peerOf({ peer, node });
  const { peers, definition } = draft.task();
  if (outcome !== 'unknown' && node === undefined) rollbackOver(draft, peer);
  const waiting = waitsForRollback(draft.task(), peer);
  if (waiting !== undefined && node === undefined)
    rolledBack(draft, waiting, outcome, { again, refuse: refuseVerdict });
  if (peers[name] !== null) return;
  draft.emit({ type: 'peer_ended', peer, outcome, ...(node !== undefined && { node }) });
  if (Object.values(draft.task().peers).every((ended) => ended !== null)) draft.timer({ clear: PEERS_TIMER });
  draft.touch(
    definition.nodes.flatMap(({ id }) => (nodeState(draft.task(), id).status === 'waiting' ? [id] : [])),
  );
};

type Watch = { readonly id: TaskId; readonly watcher: TaskId; readonly node?: NodeId | undefined };

const answer = (
  { id, watcher, node }: Watch,
  outcome: Outcome | 'unknown',
  at: number,
  gave: ReturnType<typeof gaveOf> = {},
): Outgoing =>
  inform(watcher, `peer.${id}.${node ?? ''}.${outcome}.${String(at)}`, {
    about: 'peer',
    task: watcher,
    peer: id,
    outcome,
    ...(node !== undefined && { node }),
    ...gave,
  });

/** Answers the watcher of a task that does not exist. */
export const watchAbsent = (watch: Watch, outcome: 'unknown' | 'cancelled', now: number): Outgoing =>
  answer(watch, outcome, now);

/** Another task wants to know how this one, or a node of it, ends. */
export const watched = (draft: Draft, watch: Watch): void => {
  const task = draft.task();
  const { node, watcher } = watch;
  const state = node === undefined ? undefined : findNode(task, node);
  const outcome = node === undefined ? task.outcome : state === undefined ? 'unknown' : endOf(state);
  if (outcome !== undefined)
    return draft.send(answer(watch, outcome, draft.now, node === undefined ? gaveOf(task) : {}));
  const known = task.watchers.some((each) => each.task === watcher && each.node === node);
  if (!known) draft.emit({ type: 'watcher_added', watcher, ...(node !== undefined && { node }) });
};

/** For whoever skips, cancels or blocks a node by hand or by a decision on it. */
export const refuse = (draft: Draft, node: NodeId, message: string): void => {
  const { attempt } = nodeState(draft.task(), node);
  endNode(draft, { type: 'node_blocked', node, attempt, error: errorBody('ERR_FORBIDDEN', message) });
};
