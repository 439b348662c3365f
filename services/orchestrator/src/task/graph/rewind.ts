import type { CommandId, NodeId } from '@holdpoint/contracts/values/ids';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { downstreamOf } from '@holdpoint/workflows/graph/graph';
import type { Draft } from '../model/decision-builder.ts';
import { letGo, tellBoard } from './ending.ts';
import { watchPeers } from '../outgoing/watch-peers.ts';
import { isTerminal } from '../model/phases.ts';
import { nodeState } from '../model/state.ts';
import { wiringOf } from '../model/workflow-index.ts';

type Cause = {
  /** The node whose route it is. */
  readonly route?: NodeId;
  readonly verdict?: Verdict;
  readonly hint?: string;
  readonly by?: string;
  readonly command?: CommandId;
};

/** What had not ended when the task failed ended with it, through no fault of its own: with the task it goes on. */
const brokenOff = (draft: Draft): readonly NodeId[] =>
  draft.task().phase === 'failed'
    ? draft.task().definition.nodes.flatMap(({ id }) => {
        const { status, error } = nodeState(draft.task(), id);
        return error === undefined && (status === 'blocked' || status === 'cancelled') ? [id] : [];
      })
    : [];

/** The nodes that start anew when these do: they, and whatever of their downstream has been touched. */
export const rewoundBy = (draft: Draft, targets: readonly NodeId[]): readonly NodeId[] => {
  const { graph } = wiringOf(draft.task().definition);
  const wanted = new Set(targets);
  const all = new Set(targets.flatMap((target) => downstreamOf(graph, target)));
  for (const id of brokenOff(draft)) all.add(id);
  return [...all].filter((id) => wanted.has(id) || nodeState(draft.task(), id).status !== 'idle');
};

/** Sends the task back: the targets and everything downstream of them get a new attempt. */
export const rewind = (draft: Draft, targets: readonly NodeId[], cause: Cause): void => {
  const [first] = targets;
  if (first === undefined) return;
  const nodes = rewoundBy(draft, targets);
  const reopens = isTerminal(draft.task().phase);
  const before = nodes.map((id) => [id, nodeState(draft.task(), id)] as const);
  draft.emit({ type: 'restarted', node: first, nodes: [...nodes], ...cause });
  for (const [id, state] of before) letGo(draft, id, state);
  tellBoard(draft);
  if (reopens) watchPeers(draft);
  draft.touch(nodes);
};
