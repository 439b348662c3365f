import { describe, expect, test } from 'vitest';
import type { PhaseAborted } from '../activation/session/abort.ts';
import { ask } from '../definition/ask.ts';
import type { CrashPoint } from './faults.ts';
import { agentPhase, effectPhase, environmentOf, ends, humanPhase, play, State } from './fixture.ts';
import { defineWorkflow } from '../definition/workflow.ts';
import type { TestEnvironment } from './create-test-environment.ts';

/** Every kind of phase and every kind of record. */
const everything = () => {
  const done: string[] = [];
  const workflow = defineWorkflow({
    id: 'everything',
    version: '1',
    state: State,
    initial: 'work',
    snapshotEvery: 1,
    phases: {
      work: agentPhase({
        guard: () => true,
        before: (context) => context.step('prepared', () => void done.push('prepared')),
        run: async (context) => {
          const made = await context.step('made', () => {
            done.push('made');
            return 'a draft';
          });
          await context.sleep(1_000);
          await context.artifact('draft', made);
          await context.effect({
            kind: 'write_external',
            capability: 'cap.file.append',
            args: { file: 'x', line: made },
            idempotencyKey: 'write',
          });
          context.update((draft) => void draft.notes.push(made));
          if (context.attempt === 1) throw new Error('once more');
        },
        onError: { strategy: 'retry', maxRetries: 1, onRetry: (_error, draft) => void (draft.count += 1) },
        human: {
          input: ask.approval(),
          prompt: { title: 'Good?' },
          onResponse: (response, draft) => void draft.notes.push(String(response)),
        },
        next: 'each',
      }),
      each: agentPhase({
        forEach: (state) => state.notes,
        parallel: 2,
        run: (context, item) => context.step('shout', () => item.toUpperCase()),
        after: (context, outputs) => context.update((draft) => void (draft.notes = outputs)),
        next: 'choose',
      }),
      choose: humanPhase({
        guard: (state) => state.notes.length > 0,
        before: async (context) => {
          const mark = await context.step('mark', () => 'before');
          context.update((draft) => void draft.notes.push(mark));
        },
        input: ask.choice((state) => state.notes),
        prompt: { title: 'Which?' },
        onResponse: (response, draft) => void (draft.topic = response),
        after: async (context, response) => {
          const mark = await context.step('answer', () => `after ${response}`);
          context.update((draft) => void draft.notes.push(mark));
        },
        next: 'rounds',
      }),
      rounds: agentPhase({
        forEach: (state) => state.notes.slice(0, 2),
        parallel: 2,
        run: (context, item) => context.step('add', () => `${item}.`),
        after: (context, outputs) =>
          context.update((draft) => void draft.notes.splice(0, outputs.length, ...outputs)),
        until: (state) => state.notes[0]?.endsWith('..') === true,
        next: 'send',
      }),
      send: effectPhase({
        before: (context) => context.update((draft) => void (draft.count += 100)),
        effect: (state) => ({
          kind: 'notify',
          capability: 'cap.notify.webhook',
          args: {
            url: 'https://example.com',
            secrets: ['${secret:HOOK}'],
            type: 'topic.made',
            data: state.topic,
          },
          idempotencyKey: 'send',
        }),
        onResult: (_outputs, draft) => void (draft.count += 10),
        next: 'done',
      }),
      ...ends,
    },
  });
  const play = async (prepare: (env: TestEnvironment) => void) => {
    const env = environmentOf(workflow, { parkMs: 5_000 });
    env.onInput((question) => ({ response: question.phase === 'work' ? true : 'TRUE' }));
    env.onEffect(({ idempotencyKey }) => ({
      outcome: 'succeeded',
      outputs: { key: idempotencyKey },
      afterMs: 7_000,
    }));
    prepare(env);
    const handle = await env.start(workflow, {});
    return { env, result: await handle.result() };
  };
  return { play, done };
};

const END = { topic: 'TRUE', count: 111, notes: ['A DRAFT..', 'TRUE..', 'before', 'after TRUE'] };

const expectTheSame = async (prepare: (env: TestEnvironment) => void): Promise<void> => {
  const { play, done } = everything();
  const { env, result } = await play(prepare);
  expect(result).toEqual(END);
  expect(env.effects().map(({ idempotencyKey }) => idempotencyKey)).toEqual(['write', 'send']);
  expect(done.length).toBeLessThanOrEqual(3);
  expect(env.lines().filter(({ level }) => level === 'error')).toEqual([]);
};

test('a task runs through every kind of phase and record', () => expectTheSame(() => undefined));

const POINTS: readonly CrashPoint[] = [
  'before:claim',
  'after:claim',
  'before:record',
  'after:record',
  'before:end',
  'after:end',
  'before:heartbeat',
  'after:heartbeat',
];
const places = POINTS.flatMap((point) =>
  ['work', 'each', 'choose', 'rounds', 'send', 'done'].flatMap((phase) =>
    (phase === 'work' ? [1, 2, 3, 4] : [1, 2]).map((nth) => ({ point, phase, nth })),
  ),
);

describe('a worker crash changes only the time', () => {
  test.each(places)(
    'a worker crash at $point in $phase, occurrence $nth, changes only the time',
    ({ point, phase, nth }) => expectTheSame((env) => env.crashWorkerAt(point, { phase, nth })),
  );
});

describe('lost and duplicate messages change only the time', () => {
  test.each([
    ['lost orders', (env: TestEnvironment) => env.lose('order', 3)],
    ['lost requests', (env: TestEnvironment) => env.lose('request', 5)],
    ['lost answers', (env: TestEnvironment) => env.lose('answer', 5)],
    ['lost news', (env: TestEnvironment) => env.lose('news', 10)],
    ['duplicate orders', (env: TestEnvironment) => env.double('order', 20)],
    ['duplicate requests', (env: TestEnvironment) => env.double('request', 40)],
  ])('the result is the same with lost or duplicate messages: %s', (_what, prepare) =>
    expectTheSame(prepare),
  );
});

test('a stopping worker hands back unfinished phases', async () => {
  const seen: string[] = [];
  const { ended, env } = await play({
    first: agentPhase({
      run: async (context) => {
        seen.push('run');
        context.signal.addEventListener('abort', () =>
          seen.push((context.signal.reason as PhaseAborted).why),
        );
        if (seen.length === 1) await new Promise(() => undefined);
      },
      finally: () => seen.push('finally'),
      next: 'done',
    }),
  });
  await env.advance(100);
  await env.restartWorker();
  expect(await ended()).toMatchObject({ topic: 'tea' });
  expect(seen).toEqual(['run', 'stopping', 'run', 'finally']);
});

test('a cancelled phase sees the abort and runs finally', async () => {
  const seen: string[] = [];
  const { handle, env, ended } = await play({
    first: agentPhase({
      run: async (context) => {
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        seen.push((context.signal.reason as { why: string }).why);
      },
      finally: () => seen.push('finally'),
      next: 'done',
    }),
  });
  await env.advance(100);
  await handle.cancel('no tea today');
  expect(await ended()).toMatchObject({ name: 'WorkflowCancelled', reason: 'no tea today' });
  await env.settled();
  expect(seen).toEqual(['cancelled', 'finally']);
});
