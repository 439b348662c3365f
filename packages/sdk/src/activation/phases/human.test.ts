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

describe('what people say comes into the state', () => {
  test.each([
    ['yes or no', ask.approval(), false],
    ['one of some', ask.choice(['keep', { value: 'drop', label: 'Drop it' }]), 'drop'],
    ['words', ask.text({ maxLength: 20 }), 'some words'],
    [
      'a form',
      ask.form(z.object({ tone: z.enum(['kind', 'firm']), copies: z.int().optional() })),
      { tone: 'firm' },
    ],
  ])('%s', async (_what, input, response) => {
    const { ended } = await play({ first: asking(input) }, { prepare: (env) => env.onInput([{ response }]) });
    expect(await ended()).toMatchObject({ more: response });
  });

  test('with what its schema makes of it', async () => {
    const form = ask.form(z.object({ name: z.string().trim(), urgent: z.boolean().default(true) }));
    const { ended } = await play(
      { first: asking(form) },
      { prepare: (env) => env.onInput([{ response: { name: ' Ada ' } }]) },
    );
    expect(await ended()).toMatchObject({ more: { name: 'Ada', urgent: true } });
  });
});

test('what is asked may follow from the state', async () => {
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

test('what only the schema refuses is asked again, with what was wrong', async () => {
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
  expect(second?.body).toContain('The answer of ada does not fit');
  expect(second?.body).toContain('backwards');
  env.onInput([{ response: { from: 1, to: 3 } }]);
  expect(await ended()).toMatchObject({ more: { from: 1, to: 3 } });
});

describe('when nobody answers in time', () => {
  const waiting = (onExpired?: 'bad') =>
    humanPhase({
      input: ask.approval(),
      prompt: { title: 'Well?' },
      expiresMs: 60_000,
      ...(onExpired && { onExpired }),
      onResponse: () => undefined,
      next: 'done',
    });

  test('the phase fails', async () => {
    const { env, ended } = await play({ first: waiting() });
    await env.advance(60_000);
    expect(await ended()).toMatchObject({
      code: 'PROGRAM_INPUT_EXPIRED',
      message: 'nobody has answered in time: Well?',
    });
  });

  test('it goes on where its author has said', async () => {
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

  test('asks once its work is done, and does not work again for the answer', async () => {
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

  test('goes where the answer leads', async () => {
    const { ended } = await play({ first: phase }, { prepare: (env) => env.onInput([{ response: false }]) });
    expect(await ended()).toMatchObject({ output: 'bad' });
  });

  test('asks nobody when its prompt says so', async () => {
    const { ended } = await play({ first: phase }, { input: { topic: 'nobody' } });
    expect(await ended()).toMatchObject({ count: 1, notes: [] });
  });
});

test.each<readonly [string, () => unknown, string]>([
  ['an async function', async () => undefined, 'the state is changed at once'],
  [
    'one that throws',
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

test('a prompt of a human phase that asks nothing fails it', async () => {
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
