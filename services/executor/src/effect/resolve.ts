import type { AnswerClaims } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { ResolveEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { decision, refused } from '@holdpoint/runtime/decider';
import type { Verify } from './admission.ts';
import type { EffectWork, EffectDecision } from './messages.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';
import { recordedOutcome, repeatOutcome } from './recorded-outcome.ts';
import { awaitSlot, nothing } from './start.ts';

/** The claims of a statement, when it is one on this effect. A grant is none. */
const statementOn = ({ id, statement }: ResolveEffect, verify: Verify): AnswerClaims | undefined => {
  const claims = verify(statement);
  return claims?.use === 'answer' && claims.sub === id ? claims : undefined;
};

/** A person has said what became of it. Only an answer to the doubt that stands counts, and only once. */
export const resolve = (state: EffectState, message: ResolveEffect, now: number, verify: Verify): EffectDecision => {
  const claims = statementOn(message, verify);
  const entry = entryIn(state);
  if (claims === undefined)
    return refused(
      errorBody('EXECUTOR_STATEMENT_INVALID', 'the approvals service has signed no such statement on it'),
    );
  if (entry === undefined)
    return refused(errorBody('EXECUTOR_UNKNOWN_EFFECT', `no effect is called ${message.id}`));
  if (claims.digest !== entry.order.digest)
    return refused(errorBody('EXECUTOR_STATEMENT_INVALID', 'the statement is on another effect of this key'));
  if (state.status === 'in_doubt' && state.next === 'person' && entry.epoch === claims.epoch)
    return answered(entry, claims, message.attempt, now);
  // Whoever asks has not heard what it has come to since.
  const fact = recordedOutcome(state, { ...entry.order, attempt: message.attempt });
  return fact === undefined ? nothing : repeatOutcome(fact, now);
};

type Entry = NonNullable<ReturnType<typeof entryIn>>;

/** It is told to the attempt that asks: the effect may have been ordered again since it began. */
const answered = ({ order }: Entry, claims: AnswerClaims, attempt: number, now: number): EffectDecision => {
  const { epoch, answer, by, jti: approval, exp } = claims;
  const about = { ...attemptRef(order), attempt };
  const said: EffectEvent = { type: 'answered', ...about, epoch, answer, by, approval };
  const reason = `${by} said so`;
  switch (answer) {
    case 'applied': {
      // Also in the form in which a stage says it: nothing more is known of it.
      const outputs = { outcome: 'succeeded', detail: reason };
      return decision({ events: [said, { type: 'applied', ...about, epoch, outputs }] });
    }
    case 'not_applied':
      return decision({ events: [said, { type: 'not_applied', ...about, epoch, reason, by: 'person' }] });
    case 'retry':
      return decision<EffectEvent, EffectWork>({
        events: [{ ...said, until: exp * 1_000 }],
        ...awaitSlot(order, now),
      });
  }
};
