import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { agentPhase, play } from '../../testing/fixture.ts';

const input = { notes: ['a', 'b', 'c', 'd'] };

describe('items', () => {
  test('items run one after the other and give a list in their order', async () => {
    const seen: string[] = [];
    const { ended, events } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          run: (_context, item, index) => {
            seen.push(item);
            return `${item}${String(index)}`;
          },
          after: (context, outputs) => context.update((draft) => void (draft.notes = outputs)),
          next: 'done',
        }),
      },
      { input },
    );
    expect(await ended()).toMatchObject({ notes: ['a0', 'b1', 'c2', 'd3'] });
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
    expect(await events()).toContainEqual(expect.objectContaining({ output: ['a0', 'b1', 'c2', 'd3'] }));
  });

  test('items run in parallel up to the limit', async () => {
    let [now, most] = [0, 0];
    const { ended } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          parallel: 3,
          run: async () => {
            now += 1;
            most = Math.max(most, now);
            await sleep(2);
            now -= 1;
          },
          next: 'done',
        }),
      },
      { input },
    );
    await ended();
    expect(most).toBe(3);
  });

  test('completed items do not run again after a failure', async () => {
    const seen: string[] = [];
    const { ended } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          run: ({ attempt }, item) => {
            seen.push(`${item}${String(attempt)}`);
            if (item === 'c' && attempt === 1) throw new Error('not c');
            return item;
          },
          onError: { strategy: 'retry', maxRetries: 1 },
          next: (_state, outputs) => (outputs.join('') === 'abcd' ? 'done' : 'bad'),
        }),
      },
      { input },
    );
    expect(await ended()).toMatchObject(input);
    // No item starts after the failure.
    expect(seen).toEqual(['a1', 'b1', 'c1', 'c2', 'd2']);
  });

  test('items are identified by content and index', async () => {
    const seen: string[] = [];
    const { ended } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          run: (context, item) => {
            seen.push(item);
            if (item === 'd' && context.attempt === 1) throw new Error('not d');
            return context.step('mark', () => item.toUpperCase());
          },
          onError: {
            strategy: 'retry',
            maxRetries: 1,
            onRetry: (_error, draft) => void (draft.notes[0] = 'z'),
          },
          after: (context, outputs) => context.update((draft) => void (draft.notes = outputs)),
          next: 'done',
        }),
      },
      { input },
    );
    expect(await ended()).toMatchObject({ notes: ['Z', 'B', 'C', 'D'] });
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'z', 'd']);
  });

  test('items cannot change the state', async () => {
    const { ended } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          run: (context) => {
            (context as unknown as { update: (recipe: () => void) => void }).update(() => undefined);
          },
          next: 'done',
        }),
      },
      { input },
    );
    expect(await ended()).toMatchObject({
      message: expect.stringContaining('an item cannot change the state') as string,
    });
  });

  test('a phase may have no items, and items may have no output', async () => {
    const { ended } = await play({
      first: agentPhase({
        forEach: (state) => state.notes,
        run: () => undefined,
        next: (_state, outputs) => (outputs.length === 0 ? 'second' : 'bad'),
      }),
      second: agentPhase({
        forEach: () => [1, 2],
        run: () => undefined,
        next: (_state, outputs) => (outputs.every((output) => output === undefined) ? 'done' : 'bad'),
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
  });

  test('waiting items are abandoned after a failure and continue in the next attempt', async () => {
    const seen: string[] = [];
    const { ended, env } = await play(
      {
        first: agentPhase({
          forEach: (state) => state.notes,
          parallel: 4,
          run: async (context, item) => {
            seen.push(item);
            if (item === 'b') {
              await sleep(5);
              if (context.attempt === 1) throw new Error('not b');
            } else
              await context.effect({
                kind: 'other',
                capability: 'cap.file.append',
                args: { file: 'x', line: item },
                idempotencyKey: item,
              });
            return item;
          },
          onError: { strategy: 'retry', maxRetries: 1 },
          next: 'done',
        }),
      },
      { input, prepare: (env) => env.onEffect(() => ({ outcome: 'succeeded', afterMs: 500 })) },
    );
    expect(await ended()).toMatchObject(input);
    expect(env.effects().map(({ idempotencyKey }) => idempotencyKey)).toEqual(['a', 'c', 'd']);
    expect(seen.filter((item) => item === 'b')).toHaveLength(2);
  });
});

describe('items with until', () => {
  const tidy = (seen: string[], more: Partial<Parameters<typeof agentPhase>[0]> = {}) =>
    agentPhase({
      forEach: (state) => state.notes,
      run: async (context, item) => {
        seen.push(item);
        return context.step('cut', () => item.slice(1));
      },
      after: (context, outputs) =>
        context.update((draft) => {
          draft.count += 1;
          draft.notes = outputs.filter((output) => output !== '');
        }),
      until: (state, outputs) => {
        seen.push(`until ${outputs.join()}`);
        return state.notes.length === 0;
      },
      ...(more as object),
      next: 'done' as const,
    });

  test('each round runs the items of the present state and after, until the condition holds', async () => {
    const seen: string[] = [];
    const { ended, events } = await play({ first: tidy(seen) }, { input: { notes: ['ab', 'c'] } });
    expect(await ended()).toMatchObject({ count: 2, notes: [] });
    expect(seen).toEqual(['ab', 'c', 'until b,', 'b', 'until ']);
    // The output of the phase is that of the last round.
    expect(await events()).toContainEqual(expect.objectContaining({ phase: 'first', output: [''] }));
  });

  test('the rounds of items have the same limit as other rounds', async () => {
    const seen: string[] = [];
    const { ended } = await play({ first: tidy(seen, { maxRuns: 2 }) }, { input: { notes: ['abcd'] } });
    expect(await ended()).toMatchObject({ message: 'until did not hold after 2 runs' });
    expect(seen.filter((line) => !line.startsWith('until'))).toEqual(['abcd', 'bcd']);
  });

  test('rounds of items without after repeat the same items', async () => {
    let runs = 0;
    const { ended } = await play({
      first: agentPhase({
        forEach: () => ['a', 'b'],
        parallel: 2,
        run: () => {
          runs += 1;
          return runs;
        },
        until: (_state, outputs) => outputs.every((output) => output > 4),
        next: (_state, outputs) => (outputs.length === 2 ? 'done' : 'bad'),
      }),
    });
    expect(await ended()).toMatchObject({ topic: 'tea' });
    expect(runs).toBe(6);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'completed items and rounds do not run again after a crash at record %i',
    async (nth) => {
      const seen: string[] = [];
      const { ended } = await play(
        { first: tidy(seen) },
        {
          input: { notes: ['ab', 'c'] },
          prepare: (env) => env.crashWorkerAt('after:record', { phase: 'first', nth }),
        },
      );
      expect(await ended()).toMatchObject({ count: 2, notes: [] });
      // An item runs again only when its own result was not recorded.
      expect(seen.filter((line) => !line.startsWith('until')).length).toBeLessThanOrEqual(4);
    },
  );
});

describe('until', () => {
  test('until repeats the work and keeps the changes of each round', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => {
          context.update((draft) => void (draft.count += 1));
          return context.state.count;
        },
        until: (state, output) => state.count === 3 && output === 3,
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ count: 3 });
  });

  test('a phase fails when until is never true', async () => {
    let runs = 0;
    const { ended } = await play({
      first: agentPhase({
        run: () => {
          runs += 1;
        },
        until: () => false,
        maxRuns: 2,
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: 'Max retries exceeded: until did not hold after 2 runs' });
    // Another attempt starts new rounds.
    expect(runs).toBe(4);
  });

  test('recorded rounds do not run again after a crash in the third round', async () => {
    let runs = 0;
    const { ended } = await play(
      {
        first: agentPhase({
          run: (context) => {
            runs += 1;
            context.update((draft) => void draft.notes.push(String(draft.notes.length + 1)));
          },
          until: (state) => state.notes.length === 3,
          next: 'done',
        }),
      },
      { prepare: (env) => env.crashWorkerAt('before:record', { nth: 3 }) },
    );
    expect(await ended()).toMatchObject({ notes: ['1', '2', '3'] });
    expect(runs).toBe(4);
  });
});
