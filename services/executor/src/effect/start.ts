import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { type Decision, decision } from '@holdpoint/runtime/decider';
import type { EffectDecision, EffectWork, Slot } from './messages.ts';
import { attemptRef, type EffectState, entryIn, type RemoteHold } from './state.ts';
import type { Moment } from './timing.ts';

export const nothing: EffectDecision = decision({});

/** The work of a start, for the owner of its slot. */
export const startWork = (
  order: RunEffect,
  epoch: number,
  { slot, since }: Pick<Slot, 'slot' | 'since'>,
  remote: RemoteHold | undefined,
): EffectWork => ({
  kind: 'start',
  order,
  epoch,
  slot,
  ...(since !== undefined && { since }),
  ...(remote && { remote }),
});

export const start = (
  state: EffectState,
  order: RunEffect,
  place: Slot,
  { now, timing }: Moment,
): EffectDecision => {
  const { worker, journal, remote } = place;
  const epoch = (entryIn(state)?.epoch ?? 0) + 1;
  const holder = remote && { ...remote.holder, since: now };
  const statement = entryIn(state)?.statement;
  const hold = holder && { ...holder, given: 1, ...(statement !== undefined && { statement }) };
  return decision<EffectEvent, EffectWork>({
    events: [
      ...(entryIn(state)?.deferred === undefined
        ? []
        : [{ type: 'undeferred' as const, ...attemptRef(order) }]),
      {
        type: 'started',
        ...attemptRef(order),
        order,
        epoch,
        worker,
        journal,
        ...(holder && { remote: holder }),
      },
    ],
    timers: [
      { set: 'lease', dueAt: now + (holder?.leaseMs ?? timing.leaseMs) },
      ...(state.status === 'absent' ? [] : [{ clear: 'slot' }]),
    ],
    work: [startWork(order, epoch, place, hold)],
  });
};

/**
 * Offers a waiting order to executors, or to claimants. It may wait for days among thousands: executors and claimants find it in
 * the ledger, so that it needs no timer. An effect in doubt has one: it was started, and there are no more of these than slots.
 */
export const offer = (
  state: EffectState,
  order: RunEffect,
  { now, timing }: Moment,
): Pick<Decision<EffectEvent, EffectWork>, 'timers' | 'work'> => {
  const isDoubt = state.status === 'in_doubt';
  const remote = isRemote(order.effect.uses);
  const reofferMs = remote ? timing.reofferRemoteMs : timing.reofferMs;
  const isDeferred = !remote && entryIn(state)?.deferred !== undefined;
  const isProbe = remote && isDoubt && state.next === 'probe';
  return {
    timers: isDoubt ? [{ set: 'slot', dueAt: now + reofferMs }] : [],
    work: [
      {
        kind: 'await_slot',
        order,
        ...(isDeferred && { deferred: true as const }),
        ...(isProbe && { probe: true as const }),
      },
    ],
  };
};
