import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { ClassOf, Verify } from '@holdpoint/executor/effect/admission';
import {
  effectOf,
  forgedGrantFor,
  GRANT_ENDS,
  grantFor,
  orderFor,
  resolveFor,
  verify as verifySlowly,
} from '@holdpoint/executor/testing/orders';

const verified = new Map<string, ReturnType<Verify>>();
/** Each token is verified once. */
export const verify: Verify = (token) => {
  if (!verified.has(token)) verified.set(token, verifySlowly(token));
  return verified.get(token);
};

const USES: Readonly<Record<EffectClass, string>> = {
  fenced: 'cap.model.fenced',
  keyed: 'cap.model.keyed',
  probeable: 'cap.model.probeable',
  idempotent: 'cap.model.idempotent',
  opaque: 'cap.model.opaque',
};
/** One capability for each effect class. */
export const classOf: ClassOf = ({ uses }) =>
  (Object.keys(USES) as EffectClass[]).find((effectClass) => USES[effectClass] === uses);

export const LATER_ATTEMPT = 'the order of a later attempt';

type Orders = { readonly plain: RunEffect; readonly odd: Readonly<Record<string, RunEffect>> };

const effectNamed = (effectClass: EffectClass, line: string) =>
  effectOf({ uses: USES[effectClass], effectClass, args: { file: 'sample.txt', line } });

const ordersOf = (effectClass: EffectClass): Orders => {
  const effect = effectNamed(effectClass, 'hello');
  const plain = orderFor(effect);
  const other = orderFor(effectNamed(effectClass, 'other'), { grant: grantFor(effect) });
  const odd = {
    [LATER_ATTEMPT]: { ...plain, attempt: 2 },
    'another effect under its grant': other,
    'another effect with its own grant': orderFor(effectNamed(effectClass, 'other')),
    'the order, forged': { ...plain, grant: forgedGrantFor(effect) },
  };
  return { plain, odd };
};

/** Every order that may come under one key, from the orchestrator or from another client. */
export const ORDERS: Readonly<Record<EffectClass, Orders>> = {
  fenced: ordersOf('fenced'),
  keyed: ordersOf('keyed'),
  probeable: ordersOf('probeable'),
  idempotent: ordersOf('idempotent'),
  opaque: ordersOf('opaque'),
};

const signed = new Map<string, ResolveEffect>();
/** The answer of a person. A retry may start long after its grant has ended. */
export const resolutionOf = (
  effectClass: EffectClass,
  { answer, epoch }: { readonly answer: InDoubtAnswer; readonly epoch: number },
): ResolveEffect => {
  const key = `${effectClass} ${answer} ${String(epoch)}`;
  const { effect } = ORDERS[effectClass].plain;
  const known = signed.get(key) ?? resolveFor(answer, epoch, effect, { exp: GRANT_ENDS / 1_000 + 3_600 });
  signed.set(key, known);
  return known;
};
