import { isEndPhase } from './status.ts';
import { type CapabilityDefinition, filledIn, remoteTargetOf } from '../approval/capability.ts';
import {
  HELD_NODE,
  HELD_WORKFLOW,
  type HeldEffect,
  type HeldState,
  type HoldEffect,
} from '../effect/hold.ts';
import type { EffectView } from '../effect/views.ts';
import type { NodeView, TaskView } from './views.ts';
import { HoldpointError } from '../values/errors.ts';
import { type EffectId, heldTaskIdOf } from '../values/ids.ts';

/** The parts of a task that a held effect shows. */
export type HeldTask = Pick<TaskView, 'id' | 'phase' | 'latestApproval' | 'error'> & {
  readonly nodes: readonly (Pick<NodeView, 'id' | 'status' | 'approval' | 'effect' | 'outputs' | 'error'> & {
    readonly verdict?: Pick<NonNullable<NodeView['verdict']>, 'class'> | undefined;
    readonly effects?: NodeView['effects'];
  })[];
};
type HeldNode = HeldTask['nodes'][number];

/** The facts about a held effect: its submission, its task, and its entry in the ledger once it was ordered. */
export type HeldFacts = {
  readonly capability: string;
  readonly key: string;
  readonly task: HeldTask;
  readonly ledger?: Pick<EffectView, 'state'> | undefined;
};

/** The submission of a held effect: its kind, class and target are those of the capability. */
export const heldSubmissionOf = (
  { capability, args, key, reason, ...options }: HoldEffect,
  definition: CapabilityDefinition,
) => {
  const title = filledIn(definition.title, args).trim();
  return {
    id: heldTaskIdOf(capability, key),
    workflow: HELD_WORKFLOW,
    goal: reason ?? (title === '' ? capability : title),
    inputs: {
      capability,
      args,
      key,
      kind: definition.kind,
      class: definition.effectClass,
      target: remoteTargetOf(definition, args),
      previews: definition.preview === true,
      ...options,
    },
  };
};

export const isHeldTask = ({ workflow }: Pick<TaskView, 'workflow'>): boolean =>
  workflow.startsWith(`${HELD_WORKFLOW}@`);

export const unknownHeldEffect = (id: string): HoldpointError =>
  new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', `no held effect has the id ${id}`);

/** The key of a capability is held with other arguments. */
export const heldOtherwise = (capability: string): HoldpointError =>
  new HoldpointError(
    'ORCHESTRATOR_TASK_CONFLICT',
    `this key of ${capability} is held with other arguments: use another key`,
  );

const FINAL: ReadonlySet<HeldState> = new Set(['applied', 'failed', 'rejected', 'cancelled']);

export const isFinal = (state: HeldState): boolean => FINAL.has(state);

export const heldNode = ({ nodes }: Pick<HeldTask, 'nodes'>): HeldNode | undefined =>
  nodes.find(({ id }) => id === HELD_NODE);

/** The entry in the ledger of an ordered effect. The order of its preview is none. */
export const heldOrder = (task: Pick<HeldTask, 'nodes'>): EffectId | undefined => {
  const { effect, effects = [] } = heldNode(task) ?? {};
  return effect !== undefined && effects.includes(effect) ? effect : undefined;
};

const REFUSED: ReadonlySet<string> = new Set(['rejected', 'changes_requested', 'expired']);

const endOf = (task: HeldTask, node: HeldNode | undefined): HeldState => {
  if (task.phase === 'cancelled' || node?.status === 'cancelled' || node?.status === 'skipped')
    return 'cancelled';
  return REFUSED.has(task.latestApproval?.status ?? '') ? 'rejected' : 'failed';
};

const openState = (
  { phase, latestApproval }: HeldTask,
  node: HeldNode | undefined,
  ledger: string | undefined,
): HeldState => {
  if (node?.status === 'awaiting_approval') return 'waiting';
  // A job with a question to a person has no effect in flight.
  const isAsked = node?.status === 'escalated' && node.verdict?.class === 'EFFECT_IN_DOUBT';
  if (ledger === 'in_doubt' || isAsked) return 'in_doubt';
  // The outputs follow with the end of the node.
  if (ledger === 'started' || ledger === 'applied') return 'running';
  if (latestApproval?.status === 'approved' && latestApproval.node === HELD_NODE) return 'approved';
  return phase === 'awaiting_approval' ? 'waiting' : 'requested';
};

/** The state of a held effect. `applied` comes with the outputs. */
export const heldStateOf = ({ task, ledger }: Pick<HeldFacts, 'task' | 'ledger'>): HeldState => {
  const node = heldNode(task);
  if (node?.status === 'succeeded') return 'applied';
  return isEndPhase(task.phase) ? endOf(task, node) : openState(task, node, ledger?.state);
};

/** A held effect as the API shows it. */
export const heldEffectOf = (facts: HeldFacts): HeldEffect => {
  const { capability, key, task } = facts;
  const node = heldNode(task);
  const { latestApproval: decided } = task;
  const approval = node?.approval ?? decided?.id;
  const error = node?.error ?? task.error;
  const state = heldStateOf(facts);
  return {
    id: task.id,
    ...(node?.effect !== undefined && { effect: node.effect }),
    capability,
    key,
    state,
    ...(approval !== undefined && { approval }),
    ...(decided?.by !== undefined && { by: decided.by }),
    ...(decided?.note !== undefined && { comment: decided.note }),
    ...(state === 'applied' && node?.outputs !== undefined && { outputs: node.outputs }),
    ...(state !== 'applied' && error !== undefined && { error }),
  };
};
