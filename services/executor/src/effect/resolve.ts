import type { AnswerClaims } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { ResolveEffect } from '@holdpoint/contracts/effect/commands';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { decision, refused } from '@holdpoint/runtime/decider';
import type { Verify } from './admission.ts';
import type { EffectDecision, EffectWork, InDoubt } from './messages.ts';
import { recordedOutcome, repeatOutcome } from './recorded-outcome.ts';
import { nothing, offer } from './start.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';
import type { Moment } from './timing.ts';

/** The claims of a signed statement about this effect. A grant is not one. */
const statementOn = ({ id, statement }: ResolveEffect, verify: Verify): AnswerClaims | undefined => {
  const claims = verify(statement);
  return claims?.use === 'answer' && claims.sub === id ? claims : undefined;
};

/** An operator answers the in-doubt question. The answer counts once, and only for the current epoch. */
export const resolve = (
  state: EffectState,
  message: ResolveEffect,
  at: Moment,
  verify: Verify,
): EffectDecision => {
  const claims = statementOn(message, verify);
  const entry = entryIn(state);
  if (claims === undefined)
    return refused(
      errorBody('EXECUTOR_STATEMENT_INVALID', 'The statement is not signed by the approvals service'),
    );
  if (entry === undefined)
    return refused(errorBody('EXECUTOR_UNKNOWN_EFFECT', `Unknown effect: ${message.id}`));
  if (claims.digest !== entry.order.digest)
    return refused(
      errorBody('EXECUTOR_STATEMENT_INVALID', 'The statement is about another effect of this key'),
    );
  if (state.status === 'in_doubt' && state.next === 'person' && entry.epoch === claims.epoch)
    return answered(state, message, claims, at);
  // The requester does not know the present outcome yet.
  const event = recordedOutcome(state, { ...entry.order, attempt: message.attempt });
  return event === undefined ? nothing : repeatOutcome(event, at.now);
};

/** Addressed to the attempt that asked: the effect may have been ordered again since it began. */
const answered = (
  state: InDoubt,
  { attempt, statement }: ResolveEffect,
  claims: AnswerClaims,
  at: Moment,
): EffectDecision => {
  const { order } = state.entry;
  const { epoch, answer, by, jti: approval, exp } = claims;
  const ref = { ...attemptRef(order), attempt };
  const recorded: EffectEvent = { type: 'answered', ...ref, epoch, answer, by, approval };
  const reason = `reported by ${by}`;
  switch (answer) {
    case 'applied': {
      // In the form of a stage result as well: no real outputs are known.
      const outputs = { outcome: 'succeeded', detail: reason };
      return decision({ events: [recorded, { type: 'applied', ...ref, epoch, outputs }] });
    }
    case 'not_applied':
      return decision({ events: [recorded, { type: 'not_applied', ...ref, epoch, reason, by: 'person' }] });
    case 'retry':
      return decision<EffectEvent, EffectWork>({
        // A claimant verifies the answer itself: the grant may have expired.
        events: [{ ...recorded, until: exp * 1_000, ...(isRemote(order.effect.uses) && { statement }) }],
        ...offer({ ...state, next: 'repeat' }, order, at),
      });
  }
};
