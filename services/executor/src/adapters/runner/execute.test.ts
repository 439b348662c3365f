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

describe('probing a target', () => {
  test('a probe gets the ordered arguments', async () => {
    const seen: unknown[] = [];
    await asked((input, { effectId, epoch }) => {
      seen.push([input, effectId, epoch]);
      return Promise.resolve({ found: 'unknown', reason: '' });
    });
    expect(seen).toEqual([[effectOf().args, orderFor().id, 2]]);
  });

  test('an applied result counts while other starts are running', async () => {
    const outputs: JsonObject = { line: 3 };
    const said = { found: 'applied', reason: 'it is there', outputs } as const;
    expect(await asked(() => Promise.resolve(said), { allEnded: false })).toEqual(said);
  });

  test('a not-applied result counts once every start has ended', async () => {
    const said = { found: 'not_applied', reason: 'no such line' } as const;
    expect(await asked(() => Promise.resolve(said))).toEqual(said);
    expect(await asked(() => Promise.resolve(said), { allEnded: false })).toEqual({
      found: 'unproven',
      reason: 'no such line, but the worker that began it may still be running',
    });
  });
});

describe('inconclusive probes', () => {
  test('an effect whose capability has no probe, or is missing, stays unknown', async () => {
    expect(await asked(undefined)).toMatchObject({ found: 'unknown' });
    const missing = await probeEffect(undefined, contextOf(), { allEnded: true, log: silentLogger() });
    expect(missing).toEqual({ found: 'unknown', reason: 'this executor cannot probe cap.file.append' });
  });

  test('an effect with invalid arguments stays unknown', async () => {
    const order = orderFor(effectOf({ args: { file: 7 } }));
    const never = () => Promise.resolve({ found: 'applied', reason: '' } as const);
    expect(await asked(never, { order })).toMatchObject({ found: 'unknown' });
  });

  test.each([
    ['with a reason for operators', new OutcomeUnknown('the target answered 500'), 'the target answered 500'],
    ['cleanly', new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'busy')), 'busy'],
    ['with another error, which stays in the executor', new Error('password sesame'), 'the probe failed'],
  ])('an effect stays unknown when the probe fails %s', async (_, error, reason) => {
    expect(await asked(() => Promise.reject(error))).toEqual({ found: 'unknown', reason });
  });

  test('an effect stays unknown when the probe throws at once', async () => {
    const failing = (): never => {
      throw new Error('at once');
    };
    expect(await asked(failing)).toEqual({ found: 'unknown', reason: 'the probe failed' });
  });
});

describe('lost starts', () => {
  const isOver = allEndedFor((journal) => journal === 'mine');

  test('lost starts have ended when their journals are held here', () => {
    expect(isOver([{ epoch: 1, journal: 'mine' }])).toBe(true);
    expect(isOver([])).toBe(true);
  });

  test('lost starts may still run when a journal is held elsewhere or unknown', () => {
    expect(
      isOver([
        { epoch: 1, journal: 'mine' },
        { epoch: 3, journal: 'theirs' },
      ]),
    ).toBe(false);
    expect(isOver([{ epoch: 1, journal: 'mine' }, { epoch: 3 }])).toBe(false);
  });
});
