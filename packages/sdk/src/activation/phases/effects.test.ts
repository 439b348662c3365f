import { TaskId } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { effectResult } from '../context/effect-request.ts';
import type { PhaseContext } from '../../definition/context.ts';
import { EffectFailed, EffectRejected } from '../../remote/effect-errors.ts';
import { outcomeOf } from '../../remote/hold.ts';
import { agentPhase, effectPhase, play, type State } from '../../testing/fixture.ts';

const request = (idempotencyKey = 'k', text = 'x') =>
  ({
    kind: 'write_external',
    capability: 'cap.file.append',
    args: { file: 'out.txt', line: text },
    idempotencyKey,
  }) as const;
const phaseWith = (run: (context: PhaseContext<State>) => unknown) => agentPhase({ run, next: 'done' });

describe('an effect of a phase', () => {
  test('an effect returns its outputs, typed by the schema', async () => {
    const { ended, env } = await play(
      {
        first: phaseWith(async (context) => {
          const { line } = await context.effect({ ...request(), result: z.object({ line: z.number() }) });
          context.update((draft) => void (draft.count = line));
        }),
      },
      {
        prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', outputs: { line: 4 }, afterMs: 100 })),
      },
    );
    expect(await ended()).toMatchObject({ count: 4 });
    expect(env.effects()).toMatchObject([{ target: 'file:out.txt', audience: [] }]);
  });

  test('the target of an effect defaults to the origin of its URL', async () => {
    const { ended, env } = await play({
      first: phaseWith((context) =>
        context.effect({
          ...request(),
          capability: 'cap.http.request',
          args: { url: 'https://example.com/a?b=c', method: 'POST' },
        }),
      ),
    });
    await ended();
    expect(env.effects()).toMatchObject([{ target: 'https://example.com' }]);
  });

  test('an effect happens once for repeated calls in all phases', async () => {
    const { ended, env } = await play({
      first: agentPhase({ run: (context) => context.effect(request()), next: 'second' }),
      second: phaseWith(async (context) => {
        await context.effect(request());
        await Promise.all([context.effect(request()), context.effect(request())]);
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(env.effects()).toHaveLength(1);
  });

  test('a different effect under the same key is refused', async () => {
    const { ended } = await play({
      first: phaseWith(async (context) => {
        await context.effect(request('k', 'one'));
        await context.effect(request('k', 'two'));
      }),
    });
    expect(await ended()).toMatchObject({ code: 'ERR_IDEMPOTENCY_CONFLICT' });
  });

  test('a rejected effect throws an error that may be caught', async () => {
    const { ended } = await play(
      {
        first: phaseWith(async (context) => {
          try {
            await context.effect(request());
          } catch (error) {
            if (!(error instanceof EffectRejected)) throw error;
            context.update((draft) => void draft.notes.push(error.message));
          }
        }),
      },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'rejected', comment: 'not today' })) },
    );
    expect(await ended()).toMatchObject({ notes: ['not today'] });
  });

  test('a failed effect throws its code, and another attempt requests it again', async () => {
    let asked = 0;
    const seen: unknown[] = [];
    const { ended, env } = await play(
      {
        first: agentPhase({
          run: async (context) => {
            try {
              await context.effect(request());
            } catch (error) {
              seen.push(error);
              throw error;
            }
          },
          onError: { strategy: 'retry', maxRetries: 1 },
          next: 'done',
        }),
      },
      {
        prepare: (env) =>
          env.onEffect(() => {
            asked += 1;
            return asked === 1
              ? { outcome: 'failed', error: { code: 'EXECUTOR_TARGET_REFUSED', message: 'no' } }
              : { outcome: 'succeeded' };
          }),
      },
    );
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(seen).toEqual([expect.any(EffectFailed)]);
    expect(seen).toMatchObject([{ code: 'EXECUTOR_TARGET_REFUSED' }]);
    expect(env.effects()).toHaveLength(2);
  });

  test.each([
    ['has an unknown kind', { kind: 'explode' as 'deploy' }],
    ['has arguments that are not JSON', { args: { at: new Date(0) as unknown as string } }],
    ['has no key', { idempotencyKey: '' }],
  ])('an effect that %s is refused', async (_what, wrong) => {
    const { ended, env } = await play({
      first: phaseWith((context) => context.effect({ ...request(), ...wrong })),
    });
    expect(await ended()).toMatchObject({ code: 'CONTRACT_INVALID' });
    expect(env.effects()).toEqual([]);
  });

  test('a slow effect parks its phase, which runs again with the result', async () => {
    let runs = 0;
    const { ended, handle, env } = await play(
      {
        first: phaseWith(async (context) => {
          runs += 1;
          const one = await context.step('one', () => runs);
          await context.effect(request());
          context.update((draft) => void (draft.count = one));
        }),
      },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'pending' })) },
    );
    await env.advance(29_000);
    await env.advance(3 * 86_400_000);
    expect(runs).toBe(1);
    env.endEffect('k', { outcome: 'succeeded' });
    expect(await ended()).toMatchObject({ count: 1 });
    expect(runs).toBe(2);
    const orders = (await handle.state()) as unknown;
    expect(orders).toMatchObject({ count: 1 });
  });

  test('an effect may take weeks', async () => {
    const afterMs = 21 * 86_400_000;
    const { ended, env } = await play(
      { first: phaseWith((context) => context.effect(request())) },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', afterMs })) },
    );
    const began = env.now();
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(env.now() - began).toBeGreaterThanOrEqual(afterMs);
  });

  test('the result of an effect arrives although its news was lost', async () => {
    const { ended, env } = await play(
      { first: phaseWith((context) => context.effect(request())) },
      {
        prepare: (env) => {
          env.lose('news');
          env.onEffect(() => ({ outcome: 'succeeded', afterMs: 1_000 }));
        },
      },
    );
    const began = env.now();
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(env.now() - began).toBe(5_000);
  });
});

describe('an effect phase', () => {
  test('the result of an effect phase changes the state', async () => {
    const { ended } = await play(
      {
        first: effectPhase({
          effect: (state) => ({ ...request(state.topic), result: z.object({ line: z.number() }) }),
          onResult: (outputs, draft) => void (draft.count = outputs.line),
          next: (state) => (state.count === 4 ? 'done' : 'bad'),
        }),
      },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', outputs: { line: 4 } })) },
    );
    expect(await ended()).toMatchObject({ count: 4 });
  });

  test('an effect phase may be skipped', async () => {
    const { ended, env } = await play({
      first: effectPhase({ guard: () => false, effect: () => request(), next: 'done' }),
    });
    await ended();
    expect(env.effects()).toEqual([]);
  });

  test.each([
    ['fails by default', undefined, { code: 'ERR_FORBIDDEN', message: 'no' }],
    ['continues at onRejected', 'bad' as const, { output: 'bad' }],
  ])('a rejected effect phase %s', async (_what, onRejected, end) => {
    const { ended } = await play(
      { first: effectPhase({ effect: () => request(), ...(onRejected && { onRejected }), next: 'done' }) },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'rejected', comment: 'no' })) },
    );
    expect(await ended()).toMatchObject(end);
  });

  test('before and after belong to an effect phase as well, and after follows onResult', async () => {
    const { env, ended } = await play(
      {
        first: effectPhase({
          guard: (state, context) => state.count === 0 && context.attempt === 1,
          before: async (context) => {
            const text = await context.step('text', () => `On ${context.state.topic}`);
            context.update((draft) => void (draft.more = text));
          },
          effect: (state) => ({
            kind: 'notify',
            capability: 'cap.file.append',
            args: { file: 'out.txt', line: state.more ?? '' },
            idempotencyKey: 'tell',
          }),
          onResult: (_outputs, draft) => void draft.notes.push('result'),
          after: (context, outputs) =>
            context.update((draft) => void draft.notes.push(`after ${JSON.stringify(outputs)}`)),
          next: 'done',
        }),
      },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', outputs: { line: 7 } })) },
    );
    expect(await ended()).toMatchObject({ more: 'On tea', notes: ['result', 'after {"line":7}'] });
    expect(env.effects()).toMatchObject([{ args: { line: 'On tea' } }]);
  });

  test('an effect phase fails when its guard returns no boolean', async () => {
    const { env, ended } = await play({
      first: effectPhase({
        guard: (() => 'yes') as unknown as () => boolean,
        effect: () => ({ kind: 'other', capability: 'cap.x', args: {}, idempotencyKey: 'k' }),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: 'a guard must return true or false' });
    expect(env.effects()).toEqual([]);
  });

  test('onRejected is for the effect of the phase, not for effects of its hooks', async () => {
    const { ended } = await play(
      {
        first: effectPhase({
          effect: () => ({
            kind: 'other',
            capability: 'cap.file.append',
            args: { file: 'x', line: 'y' },
            idempotencyKey: 'main',
          }),
          after: (context) =>
            context.effect({
              kind: 'other',
              capability: 'cap.file.append',
              args: { file: 'x', line: 'y' },
              idempotencyKey: 'more',
            }),
          onRejected: 'done',
          next: 'bad',
        }),
      },
      {
        prepare: (env) =>
          env.onEffect(({ idempotencyKey }) =>
            idempotencyKey === 'more' ? { outcome: 'rejected' } : { outcome: 'succeeded' },
          ),
      },
    );
    expect(await ended()).toMatchObject({ code: 'ERR_FORBIDDEN' });
  });

  test.each([
    ['ERR_FORBIDDEN', 'ERR_FORBIDDEN'],
    ['APPROVALS_EXPIRED', 'APPROVALS_EXPIRED'],
    ['APPROVALS_ARGUMENTS_INVALID', 'ERR_FORBIDDEN'],
  ])('an effect that ends with %s before its approval is rejected with %s', (code, thrown) => {
    const error = { code, message: 'no' };
    const rejected = expect.objectContaining({
      name: 'EffectRejected',
      code: thrown,
      message: 'no',
    }) as Error;
    expect(() => effectResult({ outcome: 'blocked', error }, request())).toThrow(rejected);
    const held = { id: 't-1', capability: 'refund', key: 'ch_1', state: 'rejected', error } as const;
    expect(() => outcomeOf({ ...held, id: TaskId.parse(held.id) }, undefined)).toThrow(rejected);
  });

  test('an effect phase fails when its outputs do not fit the schema', async () => {
    const { ended } = await play({
      first: effectPhase({
        effect: () => ({ ...request(), result: z.object({ line: z.number() }) }),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ code: 'PROGRAM_OUTPUT_INVALID' });
  });
});
