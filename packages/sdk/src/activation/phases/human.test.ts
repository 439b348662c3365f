import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ask } from '../../definition/ask.ts';
import { agentPhase, humanPhase, play } from '../../testing/fixture.ts';

const asking = (input: Parameters<typeof humanPhase>[0]['input']) =>
  humanPhase({
    input,
    prompt: { title: 'Well?' },
    onResponse: (response, draft) => void (draft.more = response as string),
    next: 'done',
  });

describe('responses', () => {
  test.each([
    ['an approval', ask.approval(), false],
    ['a choice', ask.choice(['keep', { value: 'drop', label: 'Drop it' }]), 'drop'],
    ['a text question', ask.text({ maxLength: 20 }), 'some words'],
    [
      'a form',
      ask.form(z.object({ tone: z.enum(['kind', 'firm']), copies: z.int().optional() })),
      { tone: 'firm' },
    ],
  ])('the response to %s is stored in the state', async (_what, input, response) => {
    const { ended } = await play({ first: asking(input) }, { prepare: (env) => env.onInput([{ response }]) });
    expect(await ended()).toMatchObject({ more: response });
  });

  test('a response is stored as parsed by its schema', async () => {
    const form = ask.form(z.object({ name: z.string().trim(), urgent: z.boolean().default(true) }));
    const { ended } = await play(
      { first: asking(form) },
      { prepare: (env) => env.onInput([{ response: { name: ' Ada ' } }]) },
    );
    expect(await ended()).toMatchObject({ more: { name: 'Ada', urgent: true } });
  });
});

test('the question may depend on the state', async () => {
  const { env } = await play(
    {
      first: humanPhase({
        input: ask.choice((state) => state.notes),
        prompt: (state) => ({ title: `Which ${state.topic}?`, body: 'x'.repeat(40_000) }),
        audience: ['group:tea', 'user:ada'],
        onResponse: () => undefined,
        next: 'done',
      }),
    },
    { input: { notes: ['green', 'black'] } },
  );
  await env.settled();
  const [question] = env.questions();
  expect(question).toMatchObject({
    title: 'Which tea?',
    audience: ['group:tea', 'user:ada'],
    input: {
      kind: 'choice',
      options: [
        { value: 'green', label: 'green' },
        { value: 'black', label: 'black' },
      ],
    },
  });
  expect(question?.body).toHaveLength(32_768);
});

test('a response that only the schema refuses repeats the question with the problem', async () => {
  const form = ask.form(
    z.object({ from: z.int(), to: z.int() }).refine(({ from, to }) => from < to, 'backwards'),
  );
  const { env, ended } = await play({ first: asking(form) });
  await env.settled();
  const [first] = env.questions();
  if (first !== undefined) env.answer(first, { response: { from: 3, to: 1 }, by: 'ada' });
  await env.settled();
  const [second] = env.questions();
  expect(second?.approval).not.toBe(first?.approval);
  expect(second?.body).toContain('The answer of ada is invalid');
  expect(second?.body).toContain('backwards');
  env.onInput([{ response: { from: 1, to: 3 } }]);
  expect(await ended()).toMatchObject({ more: { from: 1, to: 3 } });
});

describe('an expired question', () => {
  const waiting = (onExpired?: 'bad') =>
    humanPhase({
      input: ask.approval(),
      prompt: { title: 'Well?' },
      expiresMs: 60_000,
      ...(onExpired && { onExpired }),
      onResponse: () => undefined,
      next: 'done',
    });

  test('an expired question fails the phase', async () => {
    const { env, ended } = await play({ first: waiting() });
    await env.advance(60_000);
    expect(await ended()).toMatchObject({
      code: 'PROGRAM_INPUT_EXPIRED',
      message: 'no answer in time: Well?',
    });
  });

  test('an expired question continues at onExpired', async () => {
    const { env, ended } = await play({ first: waiting('bad') });
    await env.advance(60_000);
    expect(await ended()).toMatchObject({ output: 'bad' });
  });
});

describe('an agent phase', () => {
  const phase = agentPhase({
    run: (context) => {
      context.update((draft) => void (draft.count = 1));
      return { words: ['a', 'draft'] };
    },
    human: {
      input: ask.approval(),
      prompt: (state, output) =>
        state.topic === 'nobody' ? undefined : { title: 'Good?', body: output.words.join(' ') },
      onResponse: (response, draft) => void draft.notes.push(response ? 'yes' : 'no'),
    },
    next: (_state, output, response) => (response === false || output.words.length !== 2 ? 'bad' : 'done'),
  });

  test('an agent phase asks after its work and does not repeat the work for the answer', async () => {
    const { env, ended, told } = await play(
      { first: phase },
      { prepare: (env) => env.onInput([{ response: true }]) },
    );
    expect(await ended()).toMatchObject({ count: 1, notes: ['yes'] });
    expect(env.questions()).toEqual([]);
    expect(await told()).toEqual([
      'phase:started first#1',
      'state:checkpoint first',
      'input:requested first#1',
      'input:received first#1',
      'phase:started first#1',
      'phase:completed first#1',
      'phase:started done#1',
      'phase:completed done#1',
      'workflow:completed',
    ]);
  });

  test('an agent phase continues where the answer leads', async () => {
    const { ended } = await play({ first: phase }, { prepare: (env) => env.onInput([{ response: false }]) });
    expect(await ended()).toMatchObject({ output: 'bad' });
  });

  test('an agent phase without a prompt asks no question', async () => {
    const { ended } = await play({ first: phase }, { input: { topic: 'nobody' } });
    expect(await ended()).toMatchObject({ count: 1, notes: [] });
  });
});

test.each<readonly [string, () => unknown, string]>([
  ['an async function', async () => undefined, 'update needs a synchronous function'],
  [
    'a function that throws',
    () => {
      throw new Error('not so');
    },
    'not so',
  ],
])('onResponse that is %s fails the phase', async (_what, onResponse, message) => {
  const { ended } = await play(
    {
      first: humanPhase({
        input: ask.approval(),
        prompt: { title: 'Well?' },
        onResponse,
        next: 'done',
      }),
    },
    { prepare: (env) => env.onInput([{ response: true }]) },
  );
  expect(await ended()).toMatchObject({ message: expect.stringContaining(message) as string });
});

describe('the parts of a human phase', () => {
  test('guard, before, the question, onResponse and after run in this order, and each changes the state', async () => {
    const seen: string[] = [];
    const { env, ended } = await play({
      first: humanPhase({
        guard: (state, context) => {
          seen.push(`guard ${state.topic} ${String(context.attempt)}`);
          return true;
        },
        before: async (context) => {
          const word = await context.step('word', () => 'green');
          seen.push(`before ${word}`);
          context.update((draft) => void draft.notes.push(word));
        },
        input: ask.text(),
        prompt: (state) => ({ title: `Which of ${state.notes.join()}?` }),
        onResponse: (response, draft) => {
          seen.push('onResponse');
          draft.topic = response;
        },
        after: async (context, response) => {
          seen.push(`after ${response} ${await context.step('word', () => 'other')}`);
          context.update((draft) => void draft.notes.push(`${context.state.topic}!`));
        },
        next: (state, response) => (state.notes.length === 2 && response === 'black' ? 'done' : 'bad'),
      }),
    });
    await env.settled();
    expect(env.questions()).toMatchObject([{ title: 'Which of green?' }]);
    env.onInput([{ response: 'black' }]);
    expect(await ended()).toMatchObject({ topic: 'black', notes: ['green', 'black!'] });
    expect(seen).toEqual(['guard tea 1', 'before green', 'onResponse', 'after black green']);
  });

  test('a guard that is false skips the question, and next gets no response', async () => {
    const { env, ended, told } = await play({
      first: humanPhase({
        guard: () => Promise.resolve(false),
        before: () => expect.unreachable(),
        input: ask.approval(),
        prompt: { title: 'Well?' },
        onResponse: () => undefined,
        after: () => expect.unreachable(),
        next: (_state, response) => (response === undefined ? 'done' : 'bad'),
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(env.questions()).toEqual([]);
    expect(await told()).toContain('phase:skipped first#1');
  });

  const failing = (part: 'guard' | 'before' | 'after') => {
    const fail = ({ attempt }: { readonly attempt: number }): void => {
      if (attempt === 1) throw new Error(`not this ${part}`);
    };
    return humanPhase({
      guard: (_state, context) => {
        if (part === 'guard') fail(context);
        return true;
      },
      before: (context) => {
        context.update((draft) => void draft.notes.push('before'));
        if (part === 'before') fail(context);
      },
      input: ask.approval(),
      prompt: { title: 'Well?' },
      onResponse: (_response, draft) => void draft.notes.push('answer'),
      after: (context) => {
        if (part === 'after') fail(context);
      },
      onError: { strategy: 'retry', maxRetries: 1 },
      next: 'done',
    });
  };

  test.each(['guard', 'before', 'after'] as const)(
    'a human phase whose %s throws fails there, and its next attempt starts anew',
    async (part) => {
      const { events, ended } = await play(
        { first: failing(part) },
        { prepare: (env) => env.onInput(() => ({ response: true })) },
      );
      expect(await ended()).toMatchObject({ notes: ['before', 'answer'] });
      expect((await events()).find(({ name }) => name === 'phase:failed')).toMatchObject({
        stage: part,
        error: { message: `not this ${part}` },
      });
    },
  );

  test('after does not run when the question expires', async () => {
    const { env, ended } = await play({
      first: humanPhase({
        input: ask.approval(),
        prompt: { title: 'Well?' },
        expiresMs: 60_000,
        onExpired: 'done',
        onResponse: () => undefined,
        after: () => expect.unreachable(),
        next: 'bad',
      }),
    });
    await env.advance(60_000);
    expect(await ended()).toMatchObject({ topic: 'tea' });
  });

  test('after may wait for an effect, and the answer counts once', async () => {
    const { env, ended } = await play(
      {
        first: humanPhase({
          input: ask.text(),
          prompt: { title: 'Well?' },
          onResponse: (response, draft) => void draft.notes.push(response),
          after: async (context, response) => {
            const { line } = await context.effect<{ line: string }>({
              kind: 'notify',
              capability: 'cap.file.append',
              args: { file: 'x', line: response },
              idempotencyKey: 'tell',
            });
            context.update((draft) => void draft.notes.push(line));
          },
          next: 'done',
        }),
      },
      {
        parkMs: 1_000,
        prepare: (env) => {
          env.onInput([{ response: 'go' }]);
          env.onEffect(() => ({ outcome: 'succeeded', outputs: { line: 'told' }, afterMs: 3_600_000 }));
        },
      },
    );
    expect(await ended()).toMatchObject({ notes: ['go', 'told'] });
    expect(env.effects()).toHaveLength(1);
  });

  test('before does not run again when an answer is invalid', async () => {
    const form = ask.form(z.object({ size: z.int() }).refine(({ size }) => size > 2, 'too small'));
    let runs = 0;
    const { ended } = await play(
      {
        first: humanPhase({
          before: () => void (runs += 1),
          input: form,
          prompt: { title: 'Well?' },
          onResponse: (response, draft) => void (draft.count = response.size),
          next: 'done',
        }),
      },
      { prepare: (env) => env.onInput([{ response: { size: 1 } }, { response: { size: 3 } }]) },
    );
    expect(await ended()).toMatchObject({ count: 3 });
    expect(runs).toBe(1);
  });
});

test('a human phase without a prompt fails', async () => {
  const { ended } = await play({
    first: humanPhase({
      input: ask.text(),
      prompt: () => undefined,
      onResponse: () => undefined,
      next: 'done',
    }),
  });
  expect(await ended()).toMatchObject({ message: 'the prompt of a human phase must return a title' });
});
