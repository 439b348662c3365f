import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { DEFAULT_POOL, executorConsumer } from '@holdpoint/contracts/bus/streams';
import { type Decider, decision } from '@holdpoint/runtime/decider';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/engine/core';
import { parseCommand, type Routed } from '@holdpoint/runtime/engine/inbound';
import { startSpan } from '@holdpoint/runtime/engine/telemetry';
import type { Slots } from './adapters/slots/slots.ts';
import type { Runner } from './adapters/runner/runner.ts';
import type { EffectMessage, EffectWork } from './effect/decide.ts';
import { type EffectState, entryIn } from './effect/state.ts';
import { summarise } from './queries/effects.ts';

export type ExecutorParts = {
  readonly decider: Decider<EffectState, EffectMessage, EffectEvent, EffectWork>;
  readonly places: Pick<Slots, 'take' | 'free' | 'areOpen'>;
  readonly runner: Runner;
  /** Whose orders it takes. */
  readonly pools: readonly string[];
  /** Whether the key that a signed text names is not known yet, but may be soon. Never, when left out. */
  readonly mayLearnKeyOf?: (token: string) => boolean;
};

/**
 * A place counts as long as effects may start at all. Once they may not, an order that has one is kept like an order that has
 * none, and a claim comes again: so the batch that the store refused goes through when it is decided anew.
 */
const asThingsAre = (message: EffectMessage, places: ExecutorParts['places']): EffectMessage => {
  if (places.areOpen()) return message;
  if (message.kind === 'run') return { ...message, place: undefined };
  return message.kind === 'claim' ? { kind: 'timer', name: 'place', data: null } : message;
};

/** An order that was kept is offered again after this, while its key is not known. */
const KEY_RETRY_MS = 1_000;

/** It was kept by somebody who knew its key; whoever has just begun may not know it yet. */
const waitsForKey = (
  state: EffectState,
  message: EffectMessage,
  { mayLearnKeyOf = never }: ExecutorParts,
): boolean => {
  if (message.kind !== 'claim' || state.status !== 'prepared') return false;
  const { grant } = state.entry.order;
  return grant !== undefined && mayLearnKeyOf(grant);
};

/** The subject says whose the order is, and nobody else: it is kept with the order, for whoever offers it again. */
const inPool = (order: RunEffect, subject: string, pools: readonly string[]): RunEffect => {
  const { pool: _, ...said } = order;
  const named = subject.split('.')[4];
  const pool = pools.find((each) => each === named) ?? DEFAULT_POOL;
  return pool === DEFAULT_POOL ? said : { ...said, pool };
};

const never = (): boolean => false;

/** What of a command counts only if it is signed. */
const signedIn = (command: CommandOf<'executor'>): string | undefined => {
  if (command.kind === 'run') return command.payload.grant;
  return command.kind === 'resolve' ? command.payload.statement : undefined;
};

const asKept = (command: CommandOf<'executor'>): EffectMessage =>
  command.kind === 'run' ? { ...command, place: undefined } : command;

/** An order takes a place along, if there is one, so that it may begin with the decision that admits it. */
const decode = (
  subject: string,
  body: unknown,
  { places, runner, pools, mayLearnKeyOf = never }: ExecutorParts,
): Routed<EffectMessage> => {
  const command = parseCommand('executor', subject, body);
  const aggregate = command.payload.id;
  const token = signedIn(command);
  // A key that is in use since a moment ago: what it has signed must not be refused before anybody could hear of it.
  if (token !== undefined && mayLearnKeyOf(token))
    return { aggregate, message: asKept(command), later: true };
  if (command.kind !== 'run') return { aggregate, message: command };
  const order = inPool(command.payload, subject, pools);
  const place = places.take(order);
  // A place that the decision did not use, because the order was a repeat, goes to the next.
  const released = (): void =>
    place === undefined || runner.usesSlot(place.slot) ? undefined : places.free(place.slot);
  return {
    aggregate,
    message: { ...command, payload: order, place: place && runner.stamped(place) },
    onDone: released,
  };
};

type Accept = (routed: Routed<EffectMessage>) => void;

/** What is done outside is a span of its own, from the start to what is known of it; it ends with the process, if that ends first. */
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

export const executorLogic = (
  parts: ExecutorParts,
): ServiceLogic<EffectState, EffectMessage, EffectEvent, EffectWork> => ({
  kind: {
    service: 'executor',
    aggregate: 'effect',
    decider: {
      ...parts.decider,
      decide: (state, message, at) =>
        waitsForKey(state, message, parts)
          ? decision({ timers: [{ set: 'place', dueAt: at.now + KEY_RETRY_MS }] })
          : parts.decider.decide(state, asThingsAre(message, parts.places), at),
    },
    summarise,
    taskOf: (_id, state) => entryIn(state)?.order.effect.task,
    snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
  },
  inbound: parts.pools.map((pool) => ({
    consumer: executorConsumer(pool),
    decode: (subject, body) => decode(subject, body, parts),
  })),
  perform: (work, accept, trace) => {
    // The ledger offers what waits to any executor; one of another pool leaves it to the next time.
    if (work.kind === 'await_place' && !parts.pools.includes(work.order.pool ?? DEFAULT_POOL)) return;
    parts.runner.perform(work, traced(work, accept, trace));
  },
});
