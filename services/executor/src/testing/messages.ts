import fc from 'fast-check';
import type { Act } from '@holdpoint/runtime/testing/run';
import type { EffectMessage, Outcome } from '../domain/effect.ts';
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
  place,
  workOf,
} from './orders.ts';

const other = effectOf({ args: { file: 'sample.txt', line: 'other' } });
const opaque = effectOf({ effectClass: 'opaque' });

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

const epoch = fc.integer({ min: 0, max: 12 });

const message: fc.Arbitrary<EffectMessage> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        payload: fc.constantFrom(...orders),
        place: fc.option(fc.constant(place), { nil: undefined }),
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
    weight: 3,
    arbitrary: fc.constantFrom<EffectMessage>(
      { kind: 'claim', id: EFFECT, place },
      { kind: 'timer', name: 'lease', data: null },
    ),
  },
  fc.constantFrom<EffectMessage>(
    { kind: 'cancel', payload: { ...about, reason: 'over' } },
    { kind: 'timer', name: 'place', data: null },
    { kind: 'timer', name: 'other', data: { x: 1 } },
  ),
  epoch.map((of) => ({ kind: 'heartbeat', epoch: of }) as const),
  fc
    .record({ epoch: fc.integer({ min: 1, max: 12 }), order: fc.constantFrom(...orders) })
    .map((start) => ({ kind: 'journalled', ...start }) as const),
);

// Mostly while the grant lasts; often several in the same batch, and so at the same time; clocks may step back.
const moment = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: NOW, max: GRANT_ENDS - 1 }) },
  { weight: 4, arbitrary: fc.constant(NOW + 1) },
  { weight: 1, arbitrary: fc.constantFrom(GRANT_ENDS, GRANT_ENDS + 700_000) },
);

/** Any messages about one effect, in any order and at any time. */
export const acts: fc.Arbitrary<readonly Act<EffectMessage>[]> = fc.array(
  fc.record({ message, now: moment }),
  {
    maxLength: 25,
  },
);
