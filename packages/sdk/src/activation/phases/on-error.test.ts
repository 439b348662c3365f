import { describe, expect, test } from 'vitest';
import { agentPhase, humanPhase, play } from '../../testing/fixture.ts';
import { ask, type Prompt } from '../../definition/ask.ts';

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

test('the strategy fail ends the task', async () => {
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

  test('retry ends after maxRetries', async () => {
    const seen: number[] = [];
    const { ended } = await play({
      first: agentPhase({
        run: failingUntil(9, seen),
        onError: { strategy: 'retry', maxRetries: 2 },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({
      code: 'PROGRAM_PHASE_FAILED',
      message: 'Max retries exceeded: attempt 3',
    });
    expect(seen).toEqual([1, 2, 3]);
  });

  test('retry without maxRetries makes no further attempt', async () => {
    const seen: number[] = [];
    const { ended } = await play({
      first: agentPhase({
        run: failingUntil(9, seen),
        onError: { strategy: 'retry' },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: 'Max retries exceeded: attempt 1' });
    expect(seen).toEqual([1]);
  });

  test('the changes of onRetry add up over the attempts, and those of a failed attempt do not count', async () => {
    const seen: unknown[] = [];
    const { ended, handle } = await play({
      first: agentPhase({
        run: (context) => {
          const { count, notes } = context.state;
          seen.push({ count, notes });
          context.update((draft) => void draft.notes.push('dropped'));
          failingUntil(4)(context);
        },
        onError: {
          strategy: 'retry',
          maxRetries: 3,
          onRetry: (error, draft) => {
            draft.count += 1;
            draft.more = error.message;
          },
        },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ count: 3, notes: ['dropped'], more: 'attempt 3' });
    expect(seen).toEqual([0, 1, 2, 3].map((count) => ({ count, notes: [] })));
    expect(await handle.state()).toMatchObject({ count: 3 });
  });

  test('a client sees the state of onRetry while the next attempt has not begun', async () => {
    const { env, handle } = await play({
      first: agentPhase({
        run: (context) => failingUntil(9)(context),
        onError: { strategy: 'pause', onRetry: (_error, draft) => void (draft.count += 1) },
        next: 'done',
      }),
    });
    for (const count of [0, 1, 2]) {
      await env.settled();
      expect(await handle.state()).toMatchObject({ count });
      const [question] = env.questions();
      if (question !== undefined) env.answer(question, { response: 'retry' });
    }
  });

  test('an error names its phase and the phase before it, in onRetry and for the client', async () => {
    const seen: unknown[] = [];
    const { ended } = await play({
      first: agentPhase({ run: () => undefined, next: 'second' }),
      second: agentPhase({
        run: failingUntil(9),
        onError: {
          strategy: 'retry',
          maxRetries: 1,
          onRetry: ({ fromPhase, toPhase, message }) => void seen.push({ fromPhase, toPhase, message }),
        },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ fromPhase: 'first', toPhase: 'second', name: 'WorkflowFailed' });
    expect(seen).toEqual([{ fromPhase: 'first', toPhase: 'second', message: 'attempt 1' }]);
  });

  test('onRetry changes the state once per attempt across workers', async () => {
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
    expect(await ended()).toMatchObject({ notes: ['1 run: attempt 1', '2 run: attempt 2'] });
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
  ])('an attempt fails again when onRetry %s', async (_how, onRetry, message) => {
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

  test('pause asks an operator, who grants an ordinary attempt', async () => {
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

  test('pause ends the task when the operator declines', async () => {
    const { ended } = await play(
      { first: phase() },
      { prepare: (env) => env.onInput([{ response: 'fail', by: 'ada' }]) },
    );
    expect(await ended()).toMatchObject({ message: 'attempt 1 (ada chose to fail)' });
  });

  test('pause respects maxRetries', async () => {
    const seen: number[] = [];
    const { ended } = await play(
      { first: phase(seen, 1) },
      { prepare: (env) => env.onInput(() => ({ response: 'retry' })) },
    );
    expect(await ended()).toMatchObject({ message: 'Max retries exceeded: attempt 2' });
    expect(seen).toEqual([1, 2]);
  });

  const deploying = (prompt?: Prompt | (() => Prompt | undefined)) =>
    agentPhase({
      run: ({ attempt, update }) => {
        update((draft) => void (draft.count = attempt));
        if (attempt < 3) throw new Error(`no disk ${String(attempt)}`);
        return 'release 7';
      },
      onError: { strategy: 'pause' },
      human: {
        input: ask.approval(),
        prompt:
          prompt ??
          ((state, output, error) => ({
            title:
              error === undefined
                ? `${state.topic}: is ${output ?? 'nothing'} good?`
                : `Deploy failed: ${error.message}. Retry?`,
          })),
        onResponse: (response, draft) => void draft.notes.push(String(response)),
      },
      next: 'done',
    });

  test('pause asks with the prompt of the phase and the error of this attempt, and success asks without one', async () => {
    const { env, ended } = await play({ first: deploying() });
    const asked: unknown[] = [];
    for (const response of ['retry', 'retry', true]) {
      await env.settled();
      const [question] = env.questions();
      if (question === undefined) break;
      asked.push([question.title, question.body, question.input.kind]);
      env.answer(question, { response });
    }
    expect(await ended()).toMatchObject({ count: 3, notes: ['true'] });
    expect(asked).toEqual([
      ['Deploy failed: no disk 1. Retry?', 'no disk 1', 'choice'],
      ['Deploy failed: no disk 2. Retry?', 'no disk 2', 'choice'],
      ['tea: is release 7 good?', undefined, 'approval'],
    ]);
  });

  test.each([
    ['is a plain text', { title: 'Good?' }],
    ['returns nothing', () => undefined],
    ['has an empty title', () => ({ title: ' ' })],
    [
      'throws',
      () => {
        throw new Error('speechless');
      },
    ],
  ])('pause asks with a general text when the prompt of the phase %s', async (_how, prompt) => {
    const { env } = await play({ first: deploying(prompt) });
    await env.settled();
    expect(env.questions()).toMatchObject([
      { title: expect.stringMatching(/first failed: no disk 1$/) as string, input: { kind: 'choice' } },
    ]);
  });

  test('pause asks with a general text when its prompt is empty', async () => {
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
  test('a time limit ends a phase that never returns and runs finally', async () => {
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

  test('a timeout is an ordinary failure', async () => {
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

  test('a time limit does not count waiting time', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => context.sleep(20_000),
        timeoutMs: 1_000,
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
  });

  test('a time limit applies to finally as well', async () => {
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

test('a failed human phase asks again and sees the error', async () => {
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
