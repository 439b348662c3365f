import type { EffectView } from '@holdpoint/contracts/effect/views';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { Accept } from '../aggregates.ts';
import { OUTCOMES } from '../approval/outcome.ts';
import type { AskOutcome } from '../approval/state.ts';

/**
 * The ledger's view of an effect as a message to its approval; undefined while it has no result, or when it
 * belongs to another approval.
 */
export const outcomeIn = (
  { approval, effect }: Pick<AskOutcome, 'approval' | 'effect'>,
  view: Pick<EffectView, 'state' | 'epoch' | 'approval'>,
): Parameters<Accept>[0] | undefined =>
  view.approval === approval && OUTCOMES.includes(view.state)
    ? {
        kind: 'approval',
        aggregate: approval,
        message: { kind: 'outcome', fact: { id: approval, effect, outcome: view.state, epoch: view.epoch } },
      }
    : undefined;

/** Asks once; the decider's timer repeats it. */
export const createAskOutcome =
  (listener: Listener) =>
  (question: AskOutcome, accept: Accept): void =>
    void listener.ask('executor', 'get', { id: question.effect }).then((view) => {
      const routed = view && outcomeIn(question, view);
      if (routed !== undefined) accept(routed);
    });
