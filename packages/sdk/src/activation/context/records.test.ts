import { describe, expect, test } from 'vitest';
import type { Json } from '@holdpoint/contracts/values/json';
import type { PhaseContext } from '../../definition/context.ts';
import { agentPhase, play, type State } from '../../testing/fixture.ts';

const phaseWith = (run: (context: PhaseContext<State>) => unknown) => agentPhase({ run, next: 'done' });

describe('a step', () => {
  test('a step runs once per name, also in parallel calls', async () => {
    let done = 0;
    const count = () => {
      done += 1;
      return done;
    };
    const { ended } = await play({
      first: phaseWith(async (context) => {
        const both = await Promise.all([context.step('a', count), context.step('a', count)]);
        const all = [...both, await context.step('a', count), await context.step('b', count)];
        context.update((draft) => void (draft.notes = all.map(String)));
      }),
    });
    expect(await ended()).toMatchObject({ notes: ['1', '1', '1', '2'] });
  });

  test('a failing step is not recorded', async () => {
    let tries = 0;
    const { ended } = await play({
      first: phaseWith(async (context) => {
        const work = () => {
          tries += 1;
          if (tries === 1) throw new Error('not yet');
          return tries;
        };
        await context.step('a', work).catch(() => undefined);
        const count = await context.step('a', work);
        context.update((draft) => void (draft.count = count));
      }),
    });
    expect(await ended()).toMatchObject({ count: 2 });
  });

  test('a recorded step survives a failure of its phase', async () => {
    let done = 0;
    const { ended } = await play({
      first: agentPhase({
        run: async (context) => {
          await context.step('a', () => {
            done += 1;
          });
          if (context.attempt === 1) throw new Error('once more');
        },
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    });
    await ended();
    expect(done).toBe(1);
  });

  test.each<readonly [string, Json | undefined]>([
    ['undefined', undefined],
    ['null', null],
    ['a value', { deep: ['x', 1, false] }],
  ])('a repeated step returns the same value: %s', async (_what, value) => {
    const seen: unknown[] = [];
    const { ended } = await play(
      {
        first: phaseWith(async (context) => {
          seen.push(await context.step('a', () => value));
        }),
      },
      { prepare: (env) => env.crashWorkerAt('before:end') },
    );
    await ended();
    expect(seen).toEqual([value, value]);
  });

  test('the same step name in another phase is a different step', async () => {
    const { ended } = await play({
      first: agentPhase({ run: (context) => context.step('a', () => 1), next: 'second' }),
      second: phaseWith(async (context) => {
        const count = await context.step('a', () => 2);
        context.update((draft) => void (draft.count = count));
      }),
    });
    expect(await ended()).toMatchObject({ count: 2 });
  });

  test.each([
    ['is not JSON', () => new Date(0), 'PROGRAM_OUTPUT_INVALID'],
    ['is too large', () => 'x'.repeat(70_000), 'PROGRAM_RECORDS_TOO_LARGE'],
  ])('a step that %s fails', async (_what, run, code) => {
    const { ended } = await play({ first: phaseWith((context) => context.step<unknown>('a', run)) });
    expect(await ended()).toMatchObject({ code });
  });

  test.each([[''], ['x'.repeat(201)]])('a step refuses the name %j', async (name) => {
    const { ended } = await play({ first: phaseWith((context) => context.step(name, () => 1)) });
    expect(await ended()).toMatchObject({ code: 'CONTRACT_INVALID' });
  });
});

describe('a sleep', () => {
  test('a sleep is measured by the clock of the store', async () => {
    const { ended, env } = await play({
      first: phaseWith(async (context) => {
        await context.sleep(2_000);
        await context.sleep(3_000);
      }),
    });
    const began = env.now();
    await ended();
    expect(env.now() - began).toBe(5_000);
  });

  test('a sleep continues without a worker and does not restart', async () => {
    const { ended, env } = await play({ first: phaseWith((context) => context.sleep(86_400_000, 'a day')) });
    const began = env.now();
    await ended();
    expect(env.now() - began).toBe(86_400_000);
  });

  test('a sleep continues while the worker is dead', async () => {
    const { ended, env } = await play(
      { first: phaseWith((context) => context.sleep(10_000)) },
      { prepare: (env) => env.crashWorkerAt('after:record') },
    );
    const began = env.now();
    await ended();
    // The lease of the dead worker ends after 30 s, and by then the sleep has ended.
    expect(env.now() - began).toBe(30_000);
  });

  test.each([[-1], [NaN], [31 * 86_400_000]])('a sleep refuses %d ms', async (ms) => {
    const { ended } = await play({ first: phaseWith((context) => context.sleep(ms)) });
    expect(await ended()).toMatchObject({ code: 'CONTRACT_INVALID' });
  });
});

describe('an artifact', () => {
  test.each<readonly [string, string | Uint8Array | Json, string, number]>([
    ['a text', 'ä', 'text/plain; charset=utf-8', 2],
    ['bytes', new Uint8Array([1, 2, 3]), 'application/octet-stream', 3],
    ['JSON', [1, 2], 'application/json', 5],
  ])('an artifact may be %s', async (_what, content, mediaType, bytes) => {
    const { ended } = await play({
      first: phaseWith(async (context) => {
        const made = await context.artifact('it', content);
        const again = await context.artifact('it', 'something else');
        expect(again).toEqual(made);
        context.update((draft) => void (draft.more = { ...made }));
      }),
    });
    expect(await ended()).toMatchObject({ more: { mediaType, bytes, name: 'it' } });
  });
});

describe('a review', () => {
  test('a phase records reviews, and reads the acceptance criteria of the task', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: async (context) => {
          const summary = `try ${String(context.attempt)}`;
          await context.review({ kind: 'spec', verdict: 'passed', summary });
          await context.review({ kind: 'spec', verdict: 'failed', summary });
          if (context.attempt === 1) throw new Error('once more');
          context.update((draft) => void (draft.count = context.acceptanceCriteria.length));
        },
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ count: 0 });
  });

  test('a review with an invalid address fails its phase with the field', async () => {
    const review = { kind: 'spec', verdict: 'passed', summary: 'fine', url: 'file:///etc' } as const;
    const { ended } = await play({ first: phaseWith((context) => context.review(review)) });
    expect(await ended()).toMatchObject({
      code: 'CONTRACT_INVALID',
      message: expect.stringContaining('url') as unknown,
    });
  });
});

test('a log line names its phase', async () => {
  const { ended, env, handle } = await play({
    first: phaseWith((context) => context.log('begun', { of: 3 })),
  });
  await ended();
  expect(env.lines()).toEqual([
    {
      level: 'info',
      message: 'begun',
      fields: { of: 3 },
      workflow: 'fixture',
      task: handle.id,
      node: 'first',
      attempt: 1,
    },
  ]);
});

test('only a draft can change the state', async () => {
  const { ended } = await play({
    first: phaseWith((context) => {
      (context.state as { topic: string }).topic = 'coffee';
    }),
  });
  expect(await ended()).toMatchObject({
    code: 'PROGRAM_PHASE_FAILED',
    message: expect.stringContaining('read only') as string,
  });
});
