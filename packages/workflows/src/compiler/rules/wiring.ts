import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import { componentsOf } from '../../graph/components.ts';
import type { NodeDraft } from '../node/node-draft.ts';
import { CICD_GATE, CONFLICT_GATE, STOP_GATE } from '../node/labels.ts';

/** The edges between the nodes of one template, for the rules about successors. */
export type Wiring = {
  readonly drafts: readonly NodeDraft[];
  draft(id: NodeId): NodeDraft | undefined;
  /** The targets of a route, without unknown names. */
  targets(from: NodeDraft, outcome: Outcome): readonly NodeDraft[];
  /** The nodes whose route leads here; for `succeeded` also those in `after`. */
  parents(to: NodeDraft, outcome: Outcome): readonly NodeDraft[];
  /** Whether each node can be reached from the other. */
  onOneLoop(one: NodeDraft, other: NodeDraft): boolean;
};

type Step = { readonly from: NodeId; readonly to: NodeId; readonly on: Outcome };

const stepsAmong = (drafts: readonly NodeDraft[]): readonly Step[] =>
  drafts.flatMap(({ node: { id, after, on = {} } }) => [
    ...after.map((from): Step => ({ from, to: id, on: 'succeeded' })),
    ...Object.entries<readonly NodeId[] | undefined>(on).flatMap(([outcome, targets]) =>
      (targets ?? []).map((to): Step => ({ from: id, to, on: outcome as Outcome })),
    ),
  ]);

export const wiringAmong = (drafts: readonly NodeDraft[]): Wiring => {
  const byId = new Map<NodeId, NodeDraft>();
  for (const draft of drafts) if (!byId.has(draft.node.id)) byId.set(draft.node.id, draft);
  const steps = stepsAmong(drafts).filter(({ from, to }) => byId.has(from) && byId.has(to));
  const incoming = Map.groupBy(steps, ({ to }) => to);
  const loops = componentsOf(
    [...byId.keys()],
    Map.groupBy(steps, ({ from }) => from),
  );
  const draftsOf = (ids: Iterable<NodeId>): readonly NodeDraft[] =>
    [...new Set(ids)].map((id) => byId.get(id)).filter((draft) => draft !== undefined);
  return {
    drafts,
    draft: (id) => byId.get(id),
    targets: ({ node }, outcome) => draftsOf(node.on?.[outcome] ?? []),
    parents: ({ node }, outcome) =>
      draftsOf((incoming.get(node.id) ?? []).filter(({ on }) => on === outcome).map(({ from }) => from)),
    onOneLoop: (one, other) => loops.get(one.node.id) === loops.get(other.node.id),
  };
};

/** The id without the prefix of its stage. */
const ownId = ({ node: { id, stage } }: NodeDraft): string =>
  stage === undefined ? id : id.slice(stage.length + 2);

type GateRole = { readonly label: string; readonly id: string; readonly gate: (draft: NodeDraft) => boolean };

/** A node has a role by its label, by the gate it carries, or by its well-known id. */
export const STOP: GateRole = { label: STOP_GATE, id: 'approve_gate_stop_condition', gate: () => false };
export const CONFLICT: GateRole = {
  label: CONFLICT_GATE,
  id: 'merge_conflict_resolution',
  gate: ({ gates }) => gates.some(({ kind, id }) => kind === 'custom' && id === 'conflict_resolution'),
};
export const CI: GateRole = {
  label: CICD_GATE,
  id: 'merge_gate_cicd',
  gate: ({ gates }) => gates.some(({ kind }) => kind === 'cicd'),
};

export const hasRole = (draft: NodeDraft, { label, id, gate }: GateRole): boolean =>
  draft.node.uses === label || ownId(draft) === id || gate(draft);

export const isGate = ({ node: { uses } }: NodeDraft): boolean => uses.startsWith('control.');
