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
