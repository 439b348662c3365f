import { DEFAULT_POOL, executorConsumer } from '@holdpoint/contracts/bus/streams';
import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { Decider } from '@holdpoint/runtime/decider';
import {
  type Accept as AcceptOf,
  type Bindings,
  SNAPSHOT_EVERY,
  snapshotEvery,
} from '@holdpoint/runtime/engine/core';
import { parseCommand, type Routed } from '@holdpoint/runtime/engine/inbound';
import type { KindsOf } from '@holdpoint/runtime/engine/kinds';
import { startSpan } from '@holdpoint/runtime/engine/telemetry';
import type { Claimants } from './adapters/claimants/claimants.ts';
import type { Runner, ToEffect } from './adapters/runner/runner.ts';
import type { Slots } from './adapters/slots/slots.ts';
import type { EffectMessage, EffectWork } from './effect/decide.ts';
import { type EffectState, entryIn } from './effect/state.ts';
import { summarise } from './queries/effects.ts';

type Accept = AcceptOf<ToEffect>;

/** The one kind of aggregate of this service. */
export const executorKinds = (decider: Decider<EffectState, EffectMessage, EffectEvent, EffectWork>) =>
  ({
    effect: {
      publishedAs: 'effect',
      decider,
      summarise,
      taskOf: (_id: string, state: EffectState) => entryIn(state)?.order.effect.task,
      creates: ({ kind }: { readonly kind: string }) => kind === 'run',
      snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
      isOver: ({ status }: EffectState) => status === 'applied' || status === 'failed_clean',
    },
  }) satisfies KindsOf<ToEffect, EffectEvent, EffectWork>;

export type ExecutorParts = {
  readonly slots: Pick<Slots, 'take' | 'free' | 'areOpen'>;
  readonly runner: Runner;
  /** Programs that carry out remote effects. Left out: remote orders wait. */
  readonly claimants?: Pick<Claimants, 'take' | 'free' | 'perform'>;
  /** The pools whose orders this executor takes. */
  readonly pools: readonly string[];
  /** Whether the key of a signed text is unknown, but may still arrive. Left out: never. */
  readonly mayLearnKeyOf?: (token: string) => boolean;
};

/** The pool of an order follows from the subject. It is stored with the order, so that the order is offered in its pool. */
const inPool = (order: RunEffect, subject: string, pools: readonly string[]): RunEffect => {
  const { pool: _, ...rest } = order;
  const named = subject.split('.')[4];
  const pool = pools.find((each) => each === named) ?? DEFAULT_POOL;
  return pool === DEFAULT_POOL ? rest : { ...rest, pool };
};

const never = (): boolean => false;

const signatureIn = (command: CommandOf<'executor'>): string | undefined => {
  if (command.kind === 'run') return command.payload.grant;
  return command.kind === 'resolve' ? command.payload.statement : undefined;
};

/** An order takes a free slot along, so that the decision that admits it can start it. */
const decode = (
  subject: string,
  body: unknown,
  { slots, runner, claimants, pools, mayLearnKeyOf = never }: ExecutorParts,
): Routed<ToEffect> => {
  const command = parseCommand('executor', subject, body);
  const target = { kind: 'effect', aggregate: command.payload.id } as const;
  const signature = signatureIn(command);
  // The key may be new: refusing its signatures before the key arrives would be final.
  const defer = signature !== undefined && mayLearnKeyOf(signature);
  if (command.kind !== 'run') return { ...target, message: command, defer };
  if (defer) return { ...target, message: { ...command, slot: undefined }, defer };
  const payload = inPool(command.payload, subject, pools);
  const waiting = { ...command, payload, slot: undefined };
  const refresh = (message: EffectMessage) => () => (slots.areOpen() ? message : waiting);
  if (isRemote(payload.effect.uses)) {
    const claim = claimants?.take(payload);
    if (claimants === undefined || claim === undefined) return { ...target, message: waiting };
    const message = { ...command, payload, slot: claim };
    return { ...target, message, refresh: refresh(message), onDone: () => claimants.free(claim.slot) };
  }
  const slot = slots.take(payload);
  if (slot === undefined) return { ...target, message: waiting };
  const message = { ...command, payload, slot: runner.stamped(slot) };
  return {
    ...target,
    message,
    // The slot counts only while effects may start. A batch that the store refused is then decided without it.
    refresh: refresh(message),
    // A repeated order does not use its slot: the next order gets it.
    onDone: () => (runner.usesSlot(slot.slot) ? undefined : slots.free(slot.slot)),
  };
};

/** A claim with the facts of the moment in which it is decided: whether effects may start, and whether its key is known. */
const claimWith =
  ({ slots, mayLearnKeyOf = never }: ExecutorParts, grant: string | undefined, accept: Accept): Accept =>
  (routed) => {
    const { message } = routed;
    if (message.kind !== 'claim') return accept(routed);
    const refresh = (): EffectMessage => {
      if (!slots.areOpen()) return { kind: 'timer', name: 'slot', data: null };
      return grant !== undefined && mayLearnKeyOf(grant) ? { ...message, keyPending: true } : message;
    };
    accept({ ...routed, refresh });
  };

/**
 * A start or a probe is a span of its own, from its begin to its result. It ends with the process if that ends
 * first.
 */
const traced = (work: EffectWork, accept: Accept, trace: string | undefined): Accept => {
  if (work.kind !== 'start' && work.kind !== 'probe') return accept;
  const { effect, id, attempt } = work.order;
  const span = startSpan(
    work.kind === 'start' ? `effect ${effect.uses}` : `probe ${effect.uses}`,
    { parent: trace, links: [] },
    {
      'holdpoint.task': effect.task,
      'holdpoint.node': effect.node,
      'holdpoint.attempt': attempt,
      'holdpoint.aggregate': id,
      'holdpoint.kind': effect.kind,
    },
  );
  return (routed) => {
    const { message } = routed;
    if (message.kind !== 'outcome' && message.kind !== 'probed') return accept(routed);
    const found = message.kind === 'outcome' ? message.outcome.kind : message.finding.found;
    span.about({ 'holdpoint.outcome': found });
    if (found === 'failed_clean' || found === 'unknown') span.failed(found);
    span.end();
    return accept({ ...routed, trace: span.trace });
  };
};

/** Claimants have no part in the trace of an effect: their programs have traces of their own. */
const performRemote = (
  work: Exclude<EffectWork, { kind: 'abort' }>,
  { claimants, pools }: ExecutorParts,
): void => {
  if (work.kind === 'await_slot' && !pools.includes(work.order.pool ?? DEFAULT_POOL)) return;
  claimants?.perform(work);
};

export const executorBindings = (parts: ExecutorParts): Bindings<ToEffect, EffectWork> => ({
  inbound: parts.pools.map((pool) => ({
    consumer: executorConsumer(pool),
    decode: (subject, body) => decode(subject, body, parts),
  })),
  perform: (work, accept, trace) => {
    if (work.kind !== 'abort' && isRemote(work.order.effect.uses)) return performRemote(work, parts);
    if (work.kind !== 'await_slot') return parts.runner.perform(work, traced(work, accept, trace));
    // The ledger offers waiting orders to every executor. One of another pool leaves the order to the next offer.
    if (!parts.pools.includes(work.order.pool ?? DEFAULT_POOL)) return;
    parts.runner.perform(work, claimWith(parts, work.order.grant, accept));
  },
});
