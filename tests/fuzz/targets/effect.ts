import { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { EffectMessage } from '@holdpoint/executor/effect/decide';
import type { EffectState } from '@holdpoint/executor/effect/state';
import { createSlots } from '@holdpoint/executor/adapters/slots/slots';
import { executorBindings, executorKinds } from '@holdpoint/executor/bindings';
import {
  about,
  decider,
  effectOf,
  NOW,
  orderFor,
  slot,
  probeableOf,
  resolveFor,
} from '@holdpoint/executor/testing/orders';
import type { Loaded } from '@holdpoint/runtime/engine/batch';
import { runOf } from '@holdpoint/runtime/testing/run';
import { z } from 'zod';
import { decisionTarget } from '../decisions.ts';

const after = (...messages: readonly EffectMessage[]): Loaded<EffectState> => {
  const run = runOf(
    decider,
    messages.map((message) => ({ message, now: NOW })),
  );
  return {
    kind: 'effect',
    version: run.reduce((count, { made }) => count + made.events.length, 0),
    state: run.at(-1)?.after ?? decider.initial,
  };
};
const run: EffectMessage = { kind: 'run', payload: orderFor(), slot };
const waiting: EffectMessage = { kind: 'run', payload: orderFor(), slot: undefined };
const forged: EffectMessage = { kind: 'run', payload: orderFor(effectOf(), { grant: 'x' }), slot };
const ended = (outcome: Extract<EffectMessage, { kind: 'outcome' }>['outcome']): EffectMessage => ({
  kind: 'outcome',
  epoch: 1,
  outcome,
});

const probeable: EffectMessage = { kind: 'run', payload: orderFor(probeableOf()), slot };
const opaqueEffect = effectOf({ uses: 'cap.http.request', effectClass: 'opaque' });
const opaque: EffectMessage = { kind: 'run', payload: orderFor(opaqueEffect), slot };
const lost = ended({ kind: 'unknown', reason: 'gone' });
const answered = (answer: InDoubtAnswer): EffectMessage => ({
  kind: 'resolve',
  payload: resolveFor(answer, 2, opaqueEffect),
});

const situations = {
  absent: after(),
  prepared: after(waiting),
  started: after(run),
  applied: after(run, ended({ kind: 'applied', outputs: {} })),
  failed: after(
    run,
    ended({ kind: 'failed_clean', error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: '' } }),
  ),
  inDoubt: after(run, lost),
  lookedInto: after(probeable, lost),
  askedOf: after(opaque, lost),
  toBeDoneAgain: after(opaque, lost, answered('retry')),
  notApplied: after(opaque, lost, answered('not_applied')),
  refused: after(forged),
  cancelled: after({ kind: 'cancel', payload: { ...about, reason: 'over' } }),
};

const Ordered = z.looseObject({ effect: CanonicalEffect });

/** An approved order: id, digest and grant follow from the effect. */
const granted = (value: object): object => {
  const ordered = Ordered.parse(value);
  return { ...ordered, ...orderFor({ ...effectOf(), args: ordered.effect.args }) };
};

/** A valid answer of a person to the open question. */
const signed = (value: object): object => ({ ...value, ...resolveFor('retry', 2, opaqueEffect) });

const bindings = executorBindings({
  slots: createSlots({ worker: 'worker-1' }, 1),
  runner: {
    perform: () => undefined,
    usesSlot: () => false,
    stamped: (each) => each,
    isQueued: () => false,
    stop: () => Promise.resolve(),
  },
  pools: [DEFAULT_POOL],
});
const logic = { service: 'executor', kinds: executorKinds(decider), ...bindings } as const;
const consumer = `executor-${DEFAULT_POOL}`;

/** Commands to the executor on the bus. */
export const effect = decisionTarget('effect', logic, situations, {
  'command/effect.run': { consumer, subject: `hp.cmd.effect.run.${DEFAULT_POOL}`, link: granted },
  'command/effect.cancel': {
    consumer,
    subject: `hp.cmd.effect.cancel.${DEFAULT_POOL}`,
    link: (value) => ({ ...value, ...about }),
  },
  'command/effect.resolve': { consumer, subject: `hp.cmd.effect.resolve.${DEFAULT_POOL}`, link: signed },
});
