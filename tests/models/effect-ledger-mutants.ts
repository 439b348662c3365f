import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { decision } from '@holdpoint/runtime/decider';
import type { Verify } from '@holdpoint/executor/effect/admission';
import { createEffectDecider, type EffectMessage } from '@holdpoint/executor/effect/decide';
import { attemptRef, type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import { type EffectDecider, realDecider as real } from './effect-ledger.ts';
import { classOf, verify } from './effect-orders.ts';

/** The real decider with a changed state or message. */
const misled = (
  mislead: (state: EffectState, message: EffectMessage) => readonly [EffectState, EffectMessage],
): EffectDecider => ({
  ...real,
  decide: (state, message, moment) => real.decide(...mislead(state, message), moment),
});

/** The real decider with one changed answer. */
const answering = (
  answer: (state: EffectState, message: EffectMessage) => readonly EffectEvent[] | undefined,
): EffectDecider => ({
  ...real,
  decide: (state, message, moment) => {
    const events = answer(state, message);
    return events === undefined ? real.decide(state, message, moment) : decision({ events });
  },
});

const evolving = (evolve: (state: EffectState, event: EffectEvent) => EffectState): EffectDecider => ({
  ...real,
  evolve,
});

const verifying = (verifyOrder: (order: RunEffect | undefined) => Verify): EffectDecider => ({
  ...real,
  decide: (state, message, moment) => {
    const order = message.kind === 'run' ? message.payload : entryIn(state)?.order;
    return createEffectDecider({ verify: verifyOrder(order), classOf }).decide(state, message, moment);
  },
});

const withEntry = (state: EffectState, change: Partial<NonNullable<ReturnType<typeof entryIn>>>) =>
  (entryIn(state) === undefined
    ? state
    : { ...state, entry: { ...entryIn(state), ...change } }) as EffectState;

export const outcomeOfAnyEpoch = misled((state, message) =>
  message.kind === 'outcome' && state.status === 'started'
    ? [state, { ...message, epoch: state.entry.epoch }]
    : [state, message],
);

export const leaseOverOrdersAgain = answering((state, message) =>
  message.kind === 'timer' && state.status === 'started'
    ? [{ type: 'prepared', ...attemptRef(state.entry.order), order: state.entry.order }]
    : undefined,
);

export const digestNotCompared = verifying((order) => (token) => {
  const claims = verify(token);
  return claims && order && { ...claims, digest: order.digest };
});

export const grantEndNotCompared = verifying(() => (token) => {
  const claims = verify(token);
  return claims && { ...claims, exp: Number.MAX_SAFE_INTEGER };
});

export const signatureNotChecked = verifying(() => (token) => {
  const [, payload = ''] = token.split('.');
  return GrantClaims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
});

export const epochNotRaisedAtDoubt = evolving((state, event) =>
  real.evolve(state, event.type === 'in_doubt' ? { ...event, epoch: event.epoch - 1 } : event),
);

export const repeatsWhatIsForAPerson = misled((state, message) => [
  message.kind === 'claim' && state.status === 'in_doubt' ? { ...state, next: 'repeat' } : state,
  message,
]);

export const claimsWhatHasStarted = misled((state, message) => [
  message.kind === 'claim' && state.status === 'started' ? { status: 'prepared', entry: state.entry } : state,
  message,
]);

export const doubtForgotten = evolving((state, event) =>
  event.type === 'in_doubt'
    ? withEntry(real.evolve(state, event), { mayHaveHappened: false })
    : real.evolve(state, event),
);

export const lateFailureResolvesDoubt = answering((state, message) =>
  message.kind === 'outcome' && message.outcome.kind === 'failed_clean' && state.status === 'in_doubt'
    ? [
        {
          type: 'failed_clean',
          ...attemptRef(state.entry.order),
          epoch: state.entry.epoch,
          error: message.outcome.error,
        },
      ]
    : undefined,
);

export const callingOffForgotten = evolving((state, event) =>
  event.type === 'cancel_requested' ? state : real.evolve(state, event),
);

export const calledOffTriedAnew = misled((state, message) => [
  message.kind === 'run' ? withEntry(state, { cancelRequested: false }) : state,
  message,
]);

export const cancellationForgotten = misled((state, message) => [
  message.kind === 'run' && state.status === 'cancelled' ? real.initial : state,
  message,
]);

export const probeNotProvenBelieved = misled((state, message) => [
  state,
  message.kind === 'probed' && message.finding.found === 'unproven'
    ? { ...message, finding: { ...message.finding, found: 'not_applied' } }
    : message,
]);

export const lostStartsForgotten = evolving((state, event) => {
  const after = real.evolve(state, event);
  return event.type === 'started' ? withEntry(after, { unended: [] }) : after;
});

export const probeOfAnyDoubt = misled((state, message) =>
  message.kind === 'probed' && state.status === 'in_doubt'
    ? [
        { ...state, next: 'probe' },
        { ...message, epoch: state.entry.epoch },
      ]
    : [state, message],
);

export const statementOnAnyDoubt = misled((state, message) => {
  const claims = message.kind === 'resolve' ? verify(message.payload.statement) : undefined;
  return claims?.use === 'answer' && state.status === 'in_doubt'
    ? [withEntry(state, { epoch: claims.epoch }), message]
    : [state, message];
});

export const cancelledInDoubtForgotten = evolving((state, event) =>
  event.type === 'cancel_requested' && state.status === 'in_doubt' ? state : real.evolve(state, event),
);

export const repeatedOrderNotAnswered = answering((state, message) =>
  message.kind === 'run' && state.status === 'applied' ? [] : undefined,
);

export const lateCancellationNotAnswered = answering((state, message) =>
  message.kind === 'cancel' && state.status === 'applied' ? [] : undefined,
);
