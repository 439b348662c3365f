import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RemoteFinding, RemoteOutcome } from '@holdpoint/contracts/effect/remote';
import { errorBody, type ErrorCode } from '@holdpoint/contracts/values/errors';
import { decision, refused } from '@holdpoint/runtime/decider';
import { probed } from './in-doubt.ts';
import type { EffectDecision, EffectMessage, EffectWork, Finding, RemoteSlot, Slot } from './messages.ts';
import { outcome } from './outcome.ts';
import { nothing, startWork } from './start.ts';
import { attemptRef, type EffectState, type Entry, entryIn, type Prober, type Unended } from './state.ts';
import type { Moment } from './timing.ts';

type Beat = Extract<EffectMessage, { kind: 'beat' }>;
type End = Extract<EffectMessage, { kind: 'end' }>;
type NotGiven = Extract<EffectMessage, { kind: 'not_given' }>;

/** The probe that is in progress; undefined when the doubt has changed since. */
const proberOf = (state: EffectState, epoch: number): Prober | undefined => {
  const entry = entryIn(state);
  const isOpen = state.status === 'in_doubt' && state.next === 'probe' && entry?.epoch === epoch;
  return isOpen && entry?.prober?.epoch === epoch ? entry.prober : undefined;
};

/** A claimant works on: its lease counts from now. A run and a probe alike are lost once their epoch is over. */
export const beat = (state: EffectState, { epoch, x }: Beat, { now }: Moment): EffectDecision => {
  const answer = (said: 'held' | 'cancelled' | 'lost', leaseMs: number) => ({
    answer: { ok: { state: said, leaseMs } },
  });
  if (state.status === 'started' && state.entry.epoch === epoch && state.remote?.x === x) {
    const { leaseMs } = state.remote;
    return decision({
      timers: [{ set: 'lease', dueAt: now + leaseMs }],
      ...answer(state.entry.cancelRequested ? 'cancelled' : 'held', leaseMs),
    });
  }
  const prober = proberOf(state, epoch);
  if (prober?.x !== x) return decision(answer('lost', 0));
  return decision({
    timers: [{ set: 'slot', dueAt: now + prober.leaseMs }],
    ...answer('held', prober.leaseMs),
  });
};

const refuse = (code: ErrorCode, message: string): EffectDecision => refused(errorBody(code, message));
const lost = (): EffectDecision =>
  refuse('EXECUTOR_CLAIM_LOST', 'The claim is over: its lease expired, or another start replaced it');
const endedBefore = (): EffectDecision =>
  refuse('EXECUTOR_CLAIM_ENDED', 'Another result of this claim was recorded before');
const wrongKey = (): EffectDecision =>
  refuse('EXECUTOR_CLAIM_SIGNATURE', 'Another key claimed this order: sign with the key of the claim');

const answered = (made: EffectDecision, { epoch }: End, status: 'recorded' | 'repeated'): EffectDecision => ({
  ...made,
  answer: { ok: { epoch, status } },
});

/** A claimant reports the result of a run or of a probe. */
export const end = (state: EffectState, message: End, at: Moment): EffectDecision => {
  const entry = entryIn(state);
  if (entry === undefined) return refuse('EXECUTOR_UNKNOWN_EFFECT', 'Unknown effect');
  const { result } = message;
  return result.kind === 'found'
    ? endProbe(state, entry, message, result, at)
    : endRun(state, entry, message, result, at);
};

const sameOutputs = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether the recorded result of a start is this one. What was applied must be the same in its outputs. */
const isRepeated = (state: EffectState, { epoch }: End, result: RemoteOutcome): boolean =>
  result.kind !== 'applied' ||
  state.status !== 'applied' ||
  state.entry.epoch !== epoch ||
  sameOutputs(state.outputs, result.outputs);

const endRun = (
  state: EffectState,
  entry: Entry,
  message: End,
  result: RemoteOutcome,
  at: Moment,
): EffectDecision => {
  const { epoch, x } = message;
  const claim = entry.claims?.find((each) => each.epoch === epoch);
  if (claim === undefined) return lost();
  if (claim.x !== x) return wrongKey();
  const made = outcome(state, epoch, result, at);
  if (state.status === 'started' && entry.epoch === epoch) return answered(made, message, 'recorded');
  if (claim.ended === result.kind && isRepeated(state, message, result))
    return answered(nothing, message, 'repeated');
  // A late "applied" is certain: it ends the doubt, even after this claimant did not know.
  if (made.events.some(({ type }) => type === 'applied')) return answered(made, message, 'recorded');
  return {
    ...(claim.ended === undefined ? lost() : endedBefore()),
    events: made.events,
    timers: made.timers,
  };
};

/**
 * Whether no lost start can still act: the prober holds their seat, which only one process can hold, and is not the process that
 * began them. Seats of different people are different, whatever their names.
 */
export const allOver = (
  unended: readonly Unended[],
  { seat, principal, x }: Pick<Prober, 'seat' | 'principal' | 'x'>,
): boolean =>
  unended.every(
    (each) => each.seat !== undefined && each.seat === seat && each.principal === principal && each.x !== x,
  );

const endProbe = (
  state: EffectState,
  entry: Entry,
  message: End,
  { found, reason, outputs }: RemoteFinding,
  at: Moment,
): EffectDecision => {
  const { epoch, x } = message;
  const { prober, unended = [] } = entry;
  if (prober?.epoch !== epoch) return lost();
  if (prober.x !== x) return wrongKey();
  if (prober.found !== undefined) {
    const said = prober.found === 'unproven' ? 'not_applied' : prober.found;
    return said === found ? answered(nothing, message, 'repeated') : endedBefore();
  }
  if (proberOf(state, epoch) === undefined) return lost();
  const isProven = found !== 'not_applied' || allOver(unended, prober);
  const finding: Finding = isProven
    ? { found, reason, ...(outputs !== undefined && { outputs }) }
    : { found: 'unproven', reason: `${reason}, but the claimant that began it may still be running` };
  return answered(probed(state, epoch, finding, at), message, 'recorded');
};

/**
 * A repeated claim: its answer may have been lost. The order keeps its epoch and goes out again, under a new lease. The executor
 * that answers now has it in its own journal first.
 */
export const giveAgain = (
  state: EffectState,
  { holder }: RemoteSlot,
  { journal, ...place }: Pick<Slot, 'slot' | 'journal' | 'since'>,
  { now }: Moment,
): EffectDecision => {
  if (state.status !== 'started' || state.remote === undefined) return nothing;
  const { entry, remote } = state;
  const isSame = (['claim', 'x', 'principal'] as const).every((each) => remote[each] === holder[each]);
  if (!isSame) return nothing;
  const { order, epoch } = entry;
  return decision<EffectEvent, EffectWork>({
    events: [
      {
        type: 'claimed',
        ...attemptRef(order),
        epoch,
        to: 'run',
        ...(journal !== undefined && { journal }),
        remote: { ...holder, since: remote.since },
      },
    ],
    timers: [{ set: 'lease', dueAt: now + holder.leaseMs }],
    work: [startWork(order, epoch, place, { ...remote, ...holder, given: remote.given + 1 })],
  });
};

/** It certainly did not begin if it never left. A claim that was repeated may have been answered elsewhere. */
export const notGiven = (state: EffectState, { epoch, given, error }: NotGiven, at: Moment): EffectDecision =>
  state.status === 'started' && state.entry.epoch === epoch && given === 1 && state.remote?.given === 1
    ? outcome(state, epoch, { kind: 'failed_clean', error }, at)
    : nothing;
