import { errorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import type { EffectHandler } from '../../ports/handler-registry.ts';
import { contextFor } from '../../../testing/context.ts';
import { effectOf, orderFor } from '../../../testing/orders.ts';
import { allEndedFor, probe as probeEffect } from './execute.ts';

const Input = z.object({ file: z.string(), line: z.string() });
const contextOf = (order = orderFor()): EffectContext => contextFor({ effectId: order.id, order, epoch: 2 });
const asked = (
  probe: NonNullable<EffectHandler['probe']> | undefined,
  { allEnded = true, order = orderFor() } = {},
) => {
  const capability: EffectHandler = {
    uses: 'cap.file.append',
    input: Input,
    run: () => Promise.reject(new Error('it was only asked about')),
    ...(probe && { probe }),
  };
  return probeEffect(capability, contextOf(order), { allEnded, log: silentLogger() });
};

describe('what the target says of an effect', () => {
  test('is asked with the arguments as they were ordered, and changes nothing', async () => {
    const seen: unknown[] = [];
    await asked((input, { effectId, epoch }) => {
      seen.push([input, effectId, epoch]);
      return Promise.resolve({ found: 'unknown', reason: '' });
    });
    expect(seen).toEqual([[effectOf().args, orderFor().id, 2]]);
  });

  test('applied counts whatever else is under way', async () => {
    const outputs: JsonObject = { line: 3 };
    const said = { found: 'applied', reason: 'it is there', outputs } as const;
    expect(await asked(() => Promise.resolve(said), { allEnded: false })).toEqual(said);
  });

  test('not applied counts once every start of it is over', async () => {
    const said = { found: 'not_applied', reason: 'no such line' } as const;
    expect(await asked(() => Promise.resolve(said))).toEqual(said);
    expect(await asked(() => Promise.resolve(said), { allEnded: false })).toEqual({
      found: 'unproven',
      reason: 'no such line, but the worker that began it may still be running',
    });
  });
});

describe('nobody knows what became of an effect', () => {
  test('whose capability cannot be asked, or is not here', async () => {
    expect(await asked(undefined)).toMatchObject({ found: 'unknown' });
    const nobody = await probeEffect(undefined, contextOf(), { allEnded: true, log: silentLogger() });
    expect(nobody).toEqual({ found: 'unknown', reason: 'this executor cannot probe cap.file.append' });
  });

  test('whose arguments are none', async () => {
    const order = orderFor(effectOf({ args: { file: 7 } }));
    const never = () => Promise.resolve({ found: 'applied', reason: '' } as const);
    expect(await asked(never, { order })).toMatchObject({ found: 'unknown' });
  });

  test.each([
    ['with a reason for people', new OutcomeUnknown('the target answered 500'), 'the target answered 500'],
    ['cleanly', new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'busy')), 'busy'],
    ['in any other way, which stays here', new Error('password sesame'), 'the probe failed'],
  ])('when asking fails %s', async (_, error, reason) => {
    expect(await asked(() => Promise.reject(error))).toEqual({ found: 'unknown', reason });
  });

  test('when asking fails at once', async () => {
    const failing = (): never => {
      throw new Error('at once');
    };
    expect(await asked(failing)).toEqual({ found: 'unknown', reason: 'the probe failed' });
  });
});

describe('starts that nobody has seen the end of', () => {
  const isOver = allEndedFor((journal) => journal === 'mine');

  test('are over when their journals are held here: their workers have not outlived that', () => {
    expect(isOver([{ epoch: 1, journal: 'mine' }])).toBe(true);
    expect(isOver([])).toBe(true);
  });

  test('may still be running when one journal is held elsewhere, or nobody knows where it is', () => {
    expect(
      isOver([
        { epoch: 1, journal: 'mine' },
        { epoch: 3, journal: 'theirs' },
      ]),
    ).toBe(false);
    expect(isOver([{ epoch: 1, journal: 'mine' }, { epoch: 3 }])).toBe(false);
  });
});
