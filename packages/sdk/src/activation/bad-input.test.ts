import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { phasesFor } from '../definition/phases-for.ts';
import { defineWorkflow } from '../definition/workflow.ts';
import { agentPhase, environmentOf, play } from '../testing/fixture.ts';

describe('a state', () => {
  test.each<readonly [string, unknown, string, string]>([
    ['does not fit its schema', 'many', 'PROGRAM_STATE_INVALID', 'count'],
    [
      'contains a value that is not JSON',
      new Date(0),
      'PROGRAM_STATE_INVALID',
      'state.count: an instance of Date',
    ],
    ['is not a number', NaN, 'PROGRAM_STATE_INVALID', 'state.count: NaN'],
  ])('a state that %s fails the phase', async (_how, count, code, message) => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => context.update((draft) => void (draft.count = count as number)),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ code, message: expect.stringContaining(message) as string });
  });

  test('a state that is too large fails the phase', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => context.update((draft) => void (draft.topic = 'x'.repeat(300_000))),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ code: 'PROGRAM_STATE_TOO_LARGE' });
  });

  test('an undefined property of the state is dropped', async () => {
    const { ended } = await play(
      {
        first: agentPhase({
          run: (context) => context.update((draft) => void (draft.more = undefined as never)),
          next: 'done',
        }),
      },
      { input: { more: 'x' } },
    );
    expect(await ended()).toEqual({ topic: 'tea', count: 0, notes: [] });
  });

  test('a state from an untyped client is validated as well', async () => {
    const { env } = await play({ first: agentPhase({ run: () => undefined, next: 'done' }) });
    const good = await env.start('fixture', { count: 3 });
    expect(await good.result()).toEqual({ topic: 'tea', count: 3, notes: [] });
    const bad = await env.start('fixture', { count: 'three' });
    await expect(bad.result()).rejects.toMatchObject({ code: 'PROGRAM_STATE_INVALID' });
  });
});

test('an invalid input is refused before the task starts', async () => {
  await expect(
    play(
      { first: agentPhase({ run: () => 1, next: 'done' }) },
      { input: { count: 'x' as unknown as number } },
    ),
  ).rejects.toMatchObject({ code: 'PROGRAM_STATE_INVALID' });
});

test('a workflow that no worker has registered is unknown', async () => {
  const { env } = await play({ first: agentPhase({ run: () => 1, next: 'done' }) });
  await expect(env.start('nothing', {})).rejects.toMatchObject({ code: 'ORCHESTRATOR_UNKNOWN_PROGRAM' });
});

describe('an output that JSON cannot hold fails the phase', () => {
  class Point {
    readonly x = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  let deep: unknown = 1;
  for (let level = 0; level < 40; level += 1) deep = [deep];

  test.each<readonly [string, unknown, string]>([
    ['a function', { list: [() => 1] }, 'output.list[0]: a function'],
    ['a cycle', cycle, 'output.self: a cycle'],
    ['a BigInt', { big: 1n }, 'output.big: a bigint'],
    ['a date', { when: new Date(0) }, 'output.when: an instance of Date'],
    ['an undefined property', { a: undefined }, 'output.a: undefined'],
    ['a hole in a list', [1, undefined], 'output[1]: undefined'],
    ['NaN', NaN, 'output: NaN'],
    ['an instance of a class', new Point(), 'output: an instance of Point'],
    ['a map', new Map(), 'output: an instance of Map'],
    ['a symbol', Symbol('x'), 'output: a symbol'],
    ['half a character', '\ud800', 'output: a text with NUL'],
    ['too many levels', deep, 'more than 32 levels'],
  ])('an output with %s fails the phase', async (_what, output, message) => {
    const { ended } = await play({ first: agentPhase({ run: () => output, next: 'done' }) });
    expect(await ended()).toMatchObject({
      code: 'PROGRAM_OUTPUT_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });
});

test('a large output is stored as an artifact, and clients receive all of it', async () => {
  const output = { text: 'x'.repeat(1_500_000) };
  const { agentPhase: own, terminal } = phasesFor(z.object({}));
  const seen: unknown[] = [];
  const workflow = defineWorkflow({
    id: 'large',
    version: '1',
    state: z.object({}),
    initial: 'first',
    phases: {
      first: own({
        run: () => output,
        next: (_state, given) => {
          seen.push(given.text.length);
          return 'done';
        },
      }),
      done: terminal({ output: () => output }),
    },
  });
  const env = environmentOf(workflow);
  const handle = await env.start(workflow, {});
  expect(await handle.result()).toEqual(output);
  expect(seen).toEqual([1_500_000]);
  const outputs: unknown[] = [];
  for await (const event of handle.events()) if (event.name === 'phase:completed') outputs.push(event.output);
  expect(outputs.map((each) => StoredArtifact.safeParse(each).success)).toEqual([true, true]);
});

test('an artifact of the author is an ordinary output', async () => {
  const { ended, events } = await play({
    first: agentPhase({ run: (context) => context.artifact('notes', { all: 'of it' }), next: 'done' }),
  });
  await ended();
  const output = expect.objectContaining({
    name: 'notes',
    mediaType: 'application/json',
    bytes: 15,
  }) as unknown;
  expect(await events()).toContainEqual(expect.objectContaining({ phase: 'first', output }));
});

test('an input too large for an order comes with the claim', async () => {
  const { ended } = await play(
    {
      first: agentPhase({
        run: (context) => context.update((draft) => void (draft.count = context.state.topic.length)),
        next: 'done',
      }),
    },
    { input: { topic: 'x'.repeat(200_000) } },
  );
  expect(await ended()).toMatchObject({ count: 200_000 });
});

test('an unawaited rejection in a phase does not end the worker', async () => {
  const { ended } = await play(
    {
      first: agentPhase({
        run: async (context) => {
          void context.sleep(60_000);
          void context.step('x', () => Promise.reject(new Error('nobody looks')));
          await new Promise(() => undefined);
        },
        timeoutMs: 1_000,
        next: 'done',
      }),
    },
    { graceMs: 1, parkMs: 86_400_000 },
  );
  expect(await ended()).toMatchObject({ code: 'PROGRAM_PHASE_TIMEOUT' });
});
