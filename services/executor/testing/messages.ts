import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import fc from 'fast-check';
import type { Act } from '@holdpoint/runtime/testing/run';
import type { EffectMessage, Finding, Outcome } from '../src/effect/decide.ts';
import {
  about,
  bareOrderFor,
  EFFECT,
  effectOf,
  forgedGrantFor,
  GRANT_ENDS,
  grantFor,
  NOW,
  orderFor,
  slot,
  probeableOf,
  resolveFor,
  workOf,
} from './orders.ts';

/** A slot of an executor with a journal. */
const journalled = { ...slot, journal: 'journal-1' };

const other = effectOf({ args: { file: 'sample.txt', line: 'other' } });
const opaque = effectOf({ uses: 'cap.http.request', effectClass: 'opaque' });

/** Orders that may be right and orders that cannot be. */
export const orders = [
  orderFor(),
  orderFor(effectOf(), { attempt: 2 }),
  orderFor(effectOf(), { attempt: 3, grant: grantFor(effectOf(), { exp: GRANT_ENDS / 1_000 + 600 }) }),
  orderFor(other),
  orderFor(other, { attempt: 2, grant: grantFor(effectOf()) }),
  orderFor(effectOf(), { effect: other }),
  orderFor(effectOf(), { grant: forgedGrantFor(effectOf()) }),
  orderFor(opaque),
  orderFor(probeableOf()),
  orderFor(probeableOf(), { attempt: 2 }),
  bareOrderFor(),
  bareOrderFor(workOf(), { attempt: 2 }),
  bareOrderFor(effectOf()),
  bareOrderFor(workOf({ uses: 'cap.file.append', effectClass: 'keyed' })),
  orderFor(workOf()),
];

const outcomes: readonly Outcome[] = [
  { kind: 'applied', outputs: { line: 1 } },
  { kind: 'failed_clean', error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' } },
  { kind: 'unknown', reason: 'connection reset' },
];

const findings: readonly Finding[] = [
  { found: 'applied', reason: 'it is there', outputs: { line: 1 } },
  { found: 'not_applied', reason: 'it is not there' },
  { found: 'unproven', reason: 'it is not there yet' },
  { found: 'unknown', reason: 'no answer' },
];

/** Answers of operators. */
const statementsOn = (effect: CanonicalEffect): readonly ResolveEffect[] =>
  [2, 3, 4, 5, 6].flatMap((asked) =>
    (['applied', 'not_applied', 'retry'] as const).map((answer) => resolveFor(answer, asked, effect)),
  );
/** Invalid and late answers. */
const idle = [
  resolveFor('retry', 2, effectOf(), { exp: NOW / 1_000 }),
  resolveFor('retry', 2, effectOf({ idempotencyKey: 'another' })),
  { ...about, statement: grantFor(effectOf()) },
  { ...about, statement: forgedGrantFor(effectOf()) },
];

type MessageSource = {
  readonly orders: readonly RunEffect[];
  readonly resolutions: readonly ResolveEffect[];
  readonly epochsMax: number;
};

const messageOf = ({
  orders: ordered,
  resolutions,
  epochsMax,
}: MessageSource): fc.Arbitrary<EffectMessage> => {
  const epoch = fc.integer({ min: 0, max: epochsMax });
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .record({
          payload: fc.constantFrom(...ordered),
          slot: fc.option(fc.constant(journalled), { nil: undefined }),
        })
        .map((order) => ({ kind: 'run', ...order }) as const),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({ epoch, outcome: fc.constantFrom(...outcomes) })
        .map((said) => ({ kind: 'outcome', ...said }) as const),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ epoch, finding: fc.constantFrom(...findings) })
        .map((said) => ({ kind: 'probed', ...said }) as const),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom(...resolutions).map((payload) => ({ kind: 'resolve', payload }) as const),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom<EffectMessage>(
        { kind: 'claim', id: EFFECT, slot: journalled },
        { kind: 'timer', name: 'lease', data: null },
      ),
    },
    fc.constantFrom<EffectMessage>(
      { kind: 'cancel', payload: { ...about, reason: 'over' } },
      { kind: 'timer', name: 'slot', data: null },
      { kind: 'timer', name: 'other', data: { x: 1 } },
    ),
    fc.constantFrom<EffectMessage>(
      { kind: 'deferred', attempt: 1, target: 'https://a.example', reason: 'its circuit is open' },
      { kind: 'deferred', attempt: 2, target: 'https://a.example', reason: 'its circuit is open' },
    ),
    epoch.map((of) => ({ kind: 'heartbeat', epoch: of }) as const),
    epoch.map((of) => ({ kind: 'abandoned', epoch: of, journal: journalled.journal }) as const),
    fc
      .record({ epoch: fc.integer({ min: 1, max: epochsMax }), order: fc.constantFrom(...ordered) })
      .map((start) => ({ kind: 'journalled', ...start }) as const),
  );
};

// Mostly while the grant lasts; often several in the same batch, and so at the same time; clocks may step back.
const moment = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: NOW, max: GRANT_ENDS - 1 }) },
  { weight: 4, arbitrary: fc.constant(NOW + 1) },
  { weight: 1, arbitrary: fc.constantFrom(GRANT_ENDS, GRANT_ENDS + 700_000) },
);

const actsOf = (message: fc.Arbitrary<EffectMessage>, minLength = 0) =>
  fc.array(fc.record({ message, now: moment }), { minLength, maxLength: 25 });

const anything = messageOf({
  orders,
  resolutions: [...[effectOf(), opaque, probeableOf(), workOf()].flatMap(statementsOn), ...idle],
  epochsMax: 12,
});
/** The story of one effect, in which most messages find something to change. */
const storyOf = (effect: CanonicalEffect) => {
  const ordered = [orderFor(effect), orderFor(effect, { attempt: 2 })];
  return actsOf(messageOf({ orders: ordered, resolutions: statementsOn(effect), epochsMax: 5 }), 8);
};

/** Any messages about one effect, in any order and at any time. */
export const acts: fc.Arbitrary<readonly Act<EffectMessage>[]> = fc.oneof(
  actsOf(anything),
  storyOf(effectOf()),
  storyOf(opaque),
  storyOf(probeableOf()),
);
