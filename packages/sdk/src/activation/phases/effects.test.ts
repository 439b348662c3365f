import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PhaseContext } from '../../definition/context.ts';
import { EffectFailed, EffectRejected } from '../context/effect-request.ts';
import { agentPhase, effectPhase, play, type State } from '../../testing/fixture.ts';

const request = (idempotencyKey = 'k', text = 'x') =>
  ({
    kind: 'write_external',
    capability: 'cap.file.append',
    args: { path: 'out.txt', text },
    idempotencyKey,
  }) as const;
const phaseWith = (run: (context: PhaseContext<State>) => unknown) => agentPhase({ run, next: 'done' });

describe('an effect of a phase', () => {
  test('gives what it gave, typed by its schema', async () => {
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
    expect(env.effects()).toMatchObject([{ target: 'cap.file.append', audience: ['operators'] }]);
  });

  test('has the origin of its URL as its target', async () => {
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

  test('happens once however often it is asked for, in this phase and in others', async () => {
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

  test('is refused as another one under the same key', async () => {
    const { ended } = await play({
      first: phaseWith(async (context) => {
        await context.effect(request('k', 'one'));
        await context.effect(request('k', 'two'));
      }),
    });
    expect(await ended()).toMatchObject({ code: 'ERR_IDEMPOTENCY_CONFLICT' });
  });

  test('that people refuse throws, and may be caught', async () => {
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

  test('that fails throws with the code of what went wrong; another attempt asks for it anew', async () => {
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
    ['has no such kind', { kind: 'explode' as 'deploy' }],
    ['has arguments that are no JSON', { args: { at: new Date(0) as unknown as string } }],
    ['has no key', { idempotencyKey: '' }],
  ])('that %s is refused', async (_what, wrong) => {
    const { ended, env } = await play({
      first: phaseWith((context) => context.effect({ ...request(), ...wrong })),
    });
    expect(await ended()).toMatchObject({ code: 'CONTRACT_INVALID' });
    expect(env.effects()).toEqual([]);
  });

  test('that takes long does not hold a worker: the phase is given back, and run again with the result', async () => {
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

  test('may take weeks', async () => {
    const afterMs = 21 * 86_400_000;
    const { ended, env } = await play(
      { first: phaseWith((context) => context.effect(request())) },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', afterMs })) },
    );
    const began = env.now();
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(env.now() - began).toBeGreaterThanOrEqual(afterMs);
  });

  test('is heard of although the news got lost', async () => {
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
  test('is asked for as data, and its result changes the state', async () => {
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

  test('may be skipped', async () => {
    const { ended, env } = await play({
      first: effectPhase({ guard: () => false, effect: () => request(), next: 'done' }),
    });
    await ended();
    expect(env.effects()).toEqual([]);
  });

  test.each([
    ['fails', undefined, { code: 'ERR_FORBIDDEN', message: 'no' }],
    ['goes on where its author has said', 'bad' as const, { output: 'bad' }],
  ])('that people refuse %s', async (_what, onRejected, end) => {
    const { ended } = await play(
      { first: effectPhase({ effect: () => request(), ...(onRejected && { onRejected }), next: 'done' }) },
      { prepare: (env) => env.onEffect(() => ({ outcome: 'rejected', comment: 'no' })) },
    );
    expect(await ended()).toMatchObject(end);
  });

  test('fails when what it gives is not what was expected', async () => {
    const { ended } = await play({
      first: effectPhase({
        effect: () => ({ ...request(), result: z.object({ line: z.number() }) }),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ code: 'PROGRAM_OUTPUT_INVALID' });
  });
});
