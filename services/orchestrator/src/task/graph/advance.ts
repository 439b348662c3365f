import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { activationOf } from './activation.ts';
import type { Draft } from '../model/decision-builder.ts';
import { conclude, endNode, stopsAfterFailure } from './ending.ts';
import { isTerminal } from '../model/phases.ts';
import { attempt, goOn, proceed } from './start-when-ready.ts';
import { nodeDefinition, nodeState } from '../model/state.ts';
import { guardHolds } from './steps.ts';
import { wiringOf } from '../model/workflow-index.ts';

/** Moves the task on as far as it goes without an answer from somebody else. */
export const settle = (draft: Draft): void => {
  const { pausedByHand, circuit } = draft.task();
  if (pausedByHand || circuit?.state === 'waiting') return;
  while (!stopsAfterFailure(draft)) {
    const id = draft.nextTouched();
    if (id === undefined) return conclude(draft);
    consider(draft, id);
    if (isTerminal(draft.task().phase)) return;
  }
};

const consider = (draft: Draft, id: NodeId): void => {
  const { status, paused, locks, orders, underGrant, done } = nodeState(draft.task(), id);
  if (paused) return;
  switch (status) {
    case 'idle':
      return activate(draft, id);
    case 'waiting':
      return orders === undefined ? activate(draft, id) : undefined;
    case 'approved':
      return proceed(draft, id);
    case 'locking':
      return locks === 'held' ? proceed(draft, id) : undefined;
    case 'running':
      // Something has ended of it, and nothing is under way: it was held back by a pause.
      return orders === undefined && underGrant === undefined && done !== undefined
        ? attempt(draft, id, () => goOn(draft, id))
        : undefined;
    default:
      return undefined;
  }
};

const activate = (draft: Draft, id: NodeId): void => {
  const activation = activationOf(draft.task(), id);
  const { attempt: number, status, wait, inspected, gate } = nodeState(draft.task(), id);
  switch (activation.kind) {
    case 'pending':
      // An entry waits for other tasks, which has to be said; within the graph it shows for itself.
      if (isEntry(draft, id) && wait?.detail !== activation.detail) {
        const next = { kind: 'dependencies', detail: activation.detail } as const;
        draft.emit({ type: 'node_waiting', node: id, attempt: number, wait: next });
      }
      return undefined;
    case 'blocked': {
      // What it depends on in this task has been dealt with; entries that wait for other tasks have nothing before them.
      const error = errorBody(isEntry(draft, id) ? 'NODE_BLOCKED' : 'NODE_DEPENDENCY', activation.detail);
      return endNode(draft, { type: 'node_ended', node: id, attempt: number, outcome: 'blocked', error });
    }
    case 'unreached': {
      const error = errorBody('NODE_DEPENDENCY', 'no route led to it');
      return endNode(draft, { type: 'node_ended', node: id, attempt: number, outcome: 'unreached', error });
    }
    case 'run':
      // Once it has been let in, its guard is not asked again in the same attempt.
      if (status === 'idle' && inspected === undefined && gate === undefined) return enter(draft, id);
      return proceed(draft, id);
  }
};

const isEntry = (draft: Draft, id: NodeId): boolean =>
  wiringOf(draft.task().definition).graph.incoming(id).length === 0;

const enter = (draft: Draft, id: NodeId): void =>
  attempt(draft, id, () => {
    const node = nodeDefinition(draft.task(), id);
    if (guardHolds(draft.task(), node)) return proceed(draft, id);
    const { attempt: number } = nodeState(draft.task(), id);
    const reason = `its guard does not hold: ${node.guard ?? ''}`;
    return endNode(draft, { type: 'node_skipped', node: id, attempt: number, reason });
  });
