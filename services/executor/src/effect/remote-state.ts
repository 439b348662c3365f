import type { EffectClaimed, EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RemoteHolder } from '@holdpoint/contracts/effect/remote';
import { type EffectState, type Entry, entryIn, type RemoteStart, type Unended } from './state.ts';

/** Starts by claimants that are remembered: a later report of an older one proves nothing. */
const REMEMBERED_MAX = 32;

const ofClaim = (state: EffectState): Entry => {
  const entry = entryIn(state);
  if (entry === undefined) throw new Error('event of an effect that was never ordered');
  return entry;
};

/** A claimant has started it. */
export const startedBy = (remote: RemoteHolder, entry: Entry, worker: string): EffectState => {
  const { x, principal, seat } = remote;
  const start = { epoch: entry.epoch, x, principal, ...(seat !== undefined && { seat }) };
  const claims = [...(entry.claims ?? []), start].slice(-REMEMBERED_MAX);
  const { statement, ...rest } = entry;
  return {
    status: 'started',
    entry: { ...rest, claims, holder: remote },
    worker,
    remote: { ...remote, given: 1, ...(statement !== undefined && { statement }) },
  };
};

/** A claimant has the order again, or probes its target. */
export const givenAgain = (
  state: EffectState,
  { to, epoch, journal, remote }: EffectClaimed,
): EffectState => {
  const entry = ofClaim(state);
  const { x, principal, seat, leaseMs } = remote;
  if (to === 'probe') {
    const prober = { epoch, x, principal, leaseMs, ...(seat !== undefined && { seat }) };
    return { ...state, entry: { ...entry, prober } } as EffectState;
  }
  if (state.status !== 'started' || state.remote === undefined) return state;
  const { given, statement } = state.remote;
  const held = { ...remote, given: given + 1, ...(statement !== undefined && { statement }) };
  return { ...state, entry: { ...entry, journal, holder: remote }, remote: held };
};

const withEnd = (entry: Entry, epoch: number, ended: RemoteStart['ended']): Entry => {
  if (entry.claims === undefined || ended === undefined) return entry;
  const claims = entry.claims.map((each) => (each.epoch === epoch ? { ...each, ended } : each));
  return { ...entry, claims };
};

/** The claimant of the start in force has reported its result. */
export const endedBy = (state: EffectState, ended: NonNullable<RemoteStart['ended']>): Entry => {
  const entry = ofClaim(state);
  return state.status === 'started' && state.remote !== undefined
    ? withEnd(entry, entry.epoch, ended)
    : entry;
};

/** The claimant of an earlier start has reported its result. */
export const endedLate = (
  entry: Entry,
  { epoch, observed }: Pick<Extract<EffectEvent, { type: 'superseded' }>, 'epoch' | 'observed'>,
): Entry =>
  withEnd(entry, epoch, observed === 'applied' || observed === 'failed_clean' ? observed : undefined);

/** The start in force was lost. A claimant has a seat at most: the journal is that of the executor that started it. */
export const lostStart = ({ epoch, journal, claims = [] }: Entry): Unended => {
  const claim = claims.findLast((each) => each.epoch === epoch);
  if (claim === undefined) return { epoch, journal };
  const { seat, principal, x } = claim;
  return { epoch, seat, principal, x };
};
