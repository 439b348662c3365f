import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import type { EffectMessage } from '@holdpoint/executor/effect/decide';
import { afterAll, expect, test } from 'vitest';
import type { EffectDecider } from './effect-ledger.ts';
import { remoteDecider as real, remoteLedger, type RemoteWorld } from './remote-ledger.ts';
import { caught, createTable, holding, type Row } from './rows.ts';

const STARTS_MAX = 2;
const modelOf = (effectClass: EffectClass, decider: EffectDecider = real) =>
  remoteLedger({ effectClass, decider, startsMax: STARTS_MAX });

/** The real decider with a changed state or message. */
const misled = (
  mislead: (state: EffectState, message: EffectMessage) => readonly [EffectState, EffectMessage],
): EffectDecider => ({
  ...real,
  decide: (state, message, moment) => real.decide(...mislead(state, message), moment),
});

const anyKeyEnds = misled((state, message) => {
  const claim =
    message.kind === 'end' ? entryIn(state)?.claims?.find(({ epoch }) => epoch === message.epoch) : undefined;
  return [state, claim && message.kind === 'end' ? { ...message, x: claim.x } : message];
});
const anyClaimRepeats = misled((state, message) =>
  message.kind === 'claim' && state.status === 'started' && state.remote && message.slot.remote
    ? [{ ...state, remote: { ...state.remote, ...message.slot.remote.holder } }, message]
    : [state, message],
);
const repeatForgotten = misled((state, message) =>
  message.kind === 'not_given' && state.status === 'started' && state.remote
    ? [{ ...state, remote: { ...state.remote, given: 1 } }, message]
    : [state, message],
);
const seatNotCompared = misled((state, message) =>
  message.kind === 'end' && state.status === 'in_doubt'
    ? [{ ...state, entry: { ...state.entry, unended: [] } }, message]
    : [state, message],
);
const beatOfAnyEpoch = misled((state, message) =>
  message.kind === 'beat' && state.status === 'started'
    ? [state, { ...message, epoch: state.entry.epoch }]
    : [state, message],
);

const NOT_SO = 'recorded as not applied, and is';
const ROWS: readonly Row<RemoteWorld>[] = [
  holding('opaque', modelOf('opaque'), 500),
  holding('probeable', modelOf('probeable'), 7_000),
  holding('keyed', modelOf('keyed'), 30_000),
  caught('any key ends a start', modelOf('opaque', anyKeyEnds), 'ended by another key'),
  caught('any claim gets a start again', modelOf('opaque', anyClaimRepeats), 'given to another claimant'),
  caught('a repeat of the claim is forgotten', modelOf('opaque', repeatForgotten), NOT_SO),
  caught('the seat of a prober is not compared', modelOf('probeable', seatNotCompared), NOT_SO),
  caught('a beat of any epoch counts', modelOf('keyed', beatOfAnyEpoch), 'a lost start keeps its lease'),
];

const { expectRow, print } = createTable('effect ledger with claimants, around the decider of the executor');
afterAll(print);

test.each(ROWS)('the ledger with claimants, $name', (row) => {
  expect(expectRow(row).length).toBeGreaterThan(0);
});
