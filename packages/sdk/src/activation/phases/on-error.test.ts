import { describe, expect, test } from 'vitest';
import { agentPhase, humanPhase, play } from '../../testing/fixture.ts';
import { ask } from '../../definition/ask.ts';

const failingUntil =
  (attempt: number, seen: number[] = []) =>
  (context: { readonly attempt: number }) => {
    seen.push(context.attempt);
    if (context.attempt < attempt) throw new Error(`attempt ${String(context.attempt)}`);
  };

test('without a strategy a failure ends the task', async () => {
  const { ended, told } = await play({ first: agentPhase({ run: failingUntil(2), next: 'done' }) });
  expect(await ended()).toMatchObject({ name: 'WorkflowFailed', code: 'PROGRAM_PHASE_FAILED' });
  expect((await told()).slice(-2)).toEqual(['phase:failed first#1', 'workflow:failed']);
});

test('fail: it ends the task as well', async () => {
  const seen: number[] = [];
  const { ended } = await play({
    first: agentPhase({ run: failingUntil(2, seen), onError: { strategy: 'fail' }, next: 'done' }),
  });
  await ended();
  expect(seen).toEqual([1]);
});

describe('retry', () => {
  test.each([
    ['fixed', 3_000],
    ['exponential', 1_000 + 2_000 + 4_000],
  ] as const)('tries again after a while: %s', async (backoff, afterMs) => {
    const seen: number[] = [];
    const { ended, env } = await play({
      first: agentPhase({
        run: failingUntil(4, seen),
        onError: { strategy: 'retry', maxRetries: 3, backoff, delayMs: 1_000 },
        next: 'done',
      }),
    });
    const began = env.now();
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(env.now() - began).toBe(afterMs);
  });

  test('ends after so many', async () => {
    const seen: number[] = [];
    const { ended } = await play({
      first: agentPhase({
        run: failingUntil(9, seen),
        onError: { strategy: 'retry', maxRetries: 2 },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: 'attempt 3' });
    expect(seen).toEqual([1, 2, 3]);
  });

  test('may change the state before each attempt, once, whoever makes it', async () => {
    let changes = 0;
    const { ended } = await play(
      {
        first: agentPhase({
          run: (context) => {
            failingUntil(3)(context);
            return context.state.notes;
          },
          onError: {
            strategy: 'retry',
            maxRetries: 2,
            onRetry: (error, draft) => {
              changes += 1;
              draft.notes.push(`${String(error.attempt)} ${error.stage}: ${error.message}`);
            },
          },
          next: 'done',
        }),
      },
      { prepare: (env) => env.crashWorkerAt('before:end', { nth: 2 }) },
    );
    // An attempt begins with what the phase began with, not with what the attempt before it did.
    expect(await ended()).toMatchObject({ notes: ['2 run: attempt 2'] });
    expect(changes).toBe(2);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no way');
      },
      'no way',
    ],
    [
      'breaks the state',
      (_error: unknown, draft: { count: unknown }) => {
        draft.count = 'many';
      },
      'the state does not fit its schema',
    ],
  ])('fails again when the change %s', async (_how, onRetry, message) => {
    const { ended } = await play({
      first: agentPhase({
        run: failingUntil(2),
        onError: { strategy: 'retry', maxRetries: 1, onRetry },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: expect.stringContaining(message) as string });
  });
});

describe('pause', () => {
  const phase = (seen: number[] = [], maxRetries?: number) =>
    agentPhase({
      run: failingUntil(3, seen),
      onError: {
        strategy: 'pause',
        ...(maxRetries !== undefined && { maxRetries }),
        prompt: (error, state) => ({ title: `${state.topic}: ${error.message}`, body: error.stage }),
      },
      next: 'done',
    });

  test('asks people, and what they grant is an attempt like any other', async () => {
    const seen: number[] = [];
    const { ended, env, told } = await play({ first: phase(seen) });
    await env.settled();
    const [question] = env.questions();
    expect(question).toMatchObject({ title: 'tea: attempt 1', body: 'run', phase: 'first' });
    env.onInput(() => ({ response: 'retry' }));
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(seen).toEqual([1, 2, 3]);
    expect((await told()).filter((name) => name.startsWith('phase:retrying'))).toHaveLength(2);
  });

  test('ends the task when people let it', async () => {
    const { ended } = await play(
      { first: phase() },
      { prepare: (env) => env.onInput([{ response: 'fail', by: 'ada' }]) },
    );
    expect(await ended()).toMatchObject({ message: 'attempt 1 (ada lets it fail)' });
  });

  test('is bounded where its author has bounded it', async () => {
    const seen: number[] = [];
    const { ended } = await play(
      { first: phase(seen, 1) },
      { prepare: (env) => env.onInput(() => ({ response: 'retry' })) },
    );
    expect(await ended()).toMatchObject({ message: 'attempt 2' });
    expect(seen).toEqual([1, 2]);
  });

  test('asks in general words when its own are none', async () => {
    const { env } = await play({
      first: agentPhase({
        run: failingUntil(2),
        onError: {
          strategy: 'pause',
          prompt: () => {
            throw new Error('speechless');
          },
        },
        next: 'done',
      }),
    });
    await env.settled();
    expect(env.questions()).toMatchObject([{ title: expect.stringContaining('attempt 1') as string }]);
    expect(env.lines().at(-1)?.message).toContain('speechless');
  });
});

describe('a time limit', () => {
  test('ends a phase that never returns, and tidies up', async () => {
    const seen: unknown[] = [];
    const { ended, env } = await play(
      {
        first: agentPhase({
          run: ({ signal }) => {
            signal.addEventListener('abort', () => seen.push((signal.reason as Error).name));
            return new Promise<never>(() => undefined);
          },
          timeoutMs: 60_000,
          finally: ({ signal }) => seen.push(signal.aborted),
          next: 'done',
        }),
      },
      { graceMs: 1 },
    );
    const began = env.now();
    expect(await ended()).toMatchObject({ code: 'PROGRAM_PHASE_TIMEOUT' });
    expect(env.now() - began).toBe(60_000);
    expect(seen).toEqual(['PhaseAborted', false]);
  });

  test('is a failure like any other', async () => {
    const { ended } = await play(
      {
        first: agentPhase({
          run: ({ attempt }) => (attempt === 1 ? new Promise<never>(() => undefined) : undefined),
          timeoutMs: 1_000,
          onError: { strategy: 'retry', maxRetries: 1 },
          next: 'done',
        }),
      },
      { graceMs: 1 },
    );
    expect(await ended()).toMatchObject({ topic: 'tea' });
  });

  test('does not count the time in which a phase waits', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => context.sleep(20_000),
        timeoutMs: 1_000,
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
  });

  test('holds for whoever tidies up as well', async () => {
    const { ended, env } = await play(
      {
        first: agentPhase({
          run: () => new Promise<never>(() => undefined),
          finally: () => new Promise<never>(() => undefined),
          timeoutMs: 1_000,
          next: 'done',
        }),
      },
      { graceMs: 1 },
    );
    const began = env.now();
    expect(await ended()).toMatchObject({ code: 'PROGRAM_PHASE_TIMEOUT' });
    expect(env.now() - began).toBe(31_000);
  });
});

test('a human phase that fails is asked again, and knows why', async () => {
  const seen: unknown[] = [];
  const { ended } = await play(
    {
      first: humanPhase({
        input: ask.text(),
        prompt: (_state, error) => {
          seen.push(error?.code);
          return { title: 'Well?' };
        },
        onResponse: (response) => {
          if (response === 'bad') throw new Error('not that');
        },
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    },
    { prepare: (env) => env.onInput([{ response: 'bad' }, { response: 'good' }]) },
  );
  expect(await ended()).toMatchObject({ topic: 'tea' });
  expect(seen).toEqual([undefined, 'PROGRAM_PHASE_FAILED']);
});
