import { describe, expect, test } from 'vitest';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { PhaseContext } from '../../definition/context.ts';
import { agentPhase, play, type State } from '../../testing/fixture.ts';

describe('a guard', () => {
  test.each<readonly [string, () => boolean | Promise<boolean>]>([
    ['synchronous', () => true],
    ['asynchronous', () => Promise.resolve(true)],
  ])('a true guard runs the phase: %s', async (_when, guard) => {
    const { ended, told } = await play({
      first: agentPhase({
        guard,
        run: (context) => context.update((draft) => void (draft.count += 1)),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ count: 1 });
    expect(await told()).toContain('phase:completed first#1');
  });

  test.each<readonly [string, () => boolean | Promise<boolean>]>([
    ['synchronous', () => false],
    ['asynchronous', () => Promise.resolve(false)],
  ])('a false guard skips the phase and the task continues: %s', async (_when, guard) => {
    const seen: unknown[] = [];
    const { ended, told } = await play({
      first: agentPhase({
        guard,
        before: () => seen.push('before'),
        run: () => seen.push('run'),
        finally: () => seen.push('finally'),
        next: (_state, output) => {
          seen.push(output);
          return 'done';
        },
      }),
    });
    expect(await ended()).toMatchObject({ count: 0 });
    expect(await told()).toEqual([
      'phase:started first#1',
      'phase:skipped first#1',
      'phase:started done#1',
      'phase:completed done#1',
      'workflow:completed',
    ]);
    expect(seen).toEqual([undefined]);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
      'no idea',
    ],
    [
      'returns neither true nor false',
      () => 'yes' as unknown as boolean,
      'a guard must return true or false',
    ],
  ])('a phase fails when its guard %s', async (_how, guard, message) => {
    const { ended, events } = await play({ first: agentPhase({ guard, run: () => 1, next: 'done' }) });
    expect(await ended()).toMatchObject({ code: 'PROGRAM_PHASE_FAILED', message });
    expect(await events()).toContainEqual(expect.objectContaining({ name: 'phase:failed', stage: 'guard' }));
  });
});

describe('before, run, after and finally', () => {
  const failing = (name: string, where: string, seen: string[]) => () => {
    seen.push(name);
    if (name === where) throw new Error(`${name} failed`);
  };
  const phaseFailing = (where: string, seen: string[]) =>
    agentPhase({
      before: failing('before', where, seen),
      run: failing('run', where, seen),
      after: failing('after', where, seen),
      finally: failing('finally', where, seen),
      next: 'done',
    });

  test.each([
    ['nowhere', ['before', 'run', 'after', 'finally']],
    ['before', ['before', 'finally']],
    ['run', ['before', 'run', 'finally']],
    ['after', ['before', 'run', 'after', 'finally']],
    ['finally', ['before', 'run', 'after', 'finally']],
  ])('the parts run in order and finally always runs: failure in %s', async (where, order) => {
    const seen: string[] = [];
    const { ended } = await play({ first: phaseFailing(where, seen) });
    const end = await ended();
    expect(seen).toEqual(order);
    expect(end).toMatchObject(where === 'nowhere' ? { topic: 'tea' } : { message: `${where} failed` });
  });

  test('the first error of a phase wins', async () => {
    const { ended, env } = await play({
      first: agentPhase({
        run: () => {
          throw new Error('first');
        },
        finally: () => {
          throw new Error('second');
        },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ message: 'first' });
    expect(env.lines().map(({ message }) => message)).toContain('finally failed as well: second');
  });

  test('the state changes of all parts count together', async () => {
    const note = (text: string) => (context: PhaseContext<State>) =>
      context.update((draft) => void draft.notes.push(text));
    const { ended } = await play({
      first: agentPhase({
        before: note('before'),
        run: note('run'),
        after: note('after'),
        finally: note('finally'),
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ notes: ['before', 'run', 'after', 'finally'] });
  });

  test('the state changes of a failed attempt are discarded', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => {
          context.update((draft) => void (draft.count += 1));
          if (context.attempt === 1) throw new Error('once more');
        },
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    });
    expect(await ended()).toMatchObject({ count: 1 });
  });
});

describe('next', () => {
  test('next may depend on state and output', async () => {
    const { ended } = await play({
      first: agentPhase({
        run: (context) => {
          context.update((draft) => void (draft.count = 7));
          return { good: false };
        },
        next: (state, output) => (state.count === 7 && output.good ? 'done' : 'bad'),
      }),
    });
    expect(await ended()).toMatchObject({ name: 'WorkflowFailed', output: 'bad' });
  });

  test.each([
    ['names an unknown phase', () => 'nowhere' as 'done', 'PROGRAM_NEXT_UNKNOWN'],
    ['returns nothing', () => undefined as unknown as 'done', 'PROGRAM_NEXT_UNKNOWN'],
    [
      'throws',
      (): 'done' => {
        throw new Error('lost');
      },
      'PROGRAM_PHASE_FAILED',
    ],
  ])('a phase fails when next %s', async (_how, next, code) => {
    const { ended } = await play({ first: agentPhase({ run: () => 1, next }) });
    expect(await ended()).toMatchObject({ code });
  });
});

test('an error with a code keeps it, and other errors keep only their message', async () => {
  const known = await play({
    first: agentPhase({
      run: () => {
        throw new HoldpointError('EXECUTOR_TARGET_REFUSED', 'refused', { details: { status: 409 } });
      },
      next: 'done',
    }),
  });
  expect(await known.ended()).toMatchObject({
    code: 'EXECUTOR_TARGET_REFUSED',
    message: 'refused',
    details: { status: 409 },
  });
  const other = await play({
    first: agentPhase({
      run: () => {
        throw Object.assign(new Error(`${'x'.repeat(1_999)}\u{1F600}\0`), { token: 'secret' });
      },
      next: 'done',
    }),
  });
  const error = (await other.ended()) as Error;
  expect(error.message.length).toBe(2_000);
  expect(error.message.isWellFormed()).toBe(true);
  expect(JSON.stringify(error)).not.toContain('secret');
});

test('a phase knows its task', async () => {
  const seen: unknown[] = [];
  const { ended, handle } = await play(
    {
      first: agentPhase({
        run: ({ input, task, attempt, visit, hints, goal }) => {
          seen.push({ input, task, attempt, visit, hints, goal });
          if (attempt === 1) throw new Error('a reason');
        },
        onError: { strategy: 'retry', maxRetries: 1 },
        next: 'done',
      }),
    },
    { input: { topic: 'coffee' } },
  );
  await ended();
  const common = { input: { topic: 'coffee' }, task: handle.id, visit: 1, goal: 'Run fixture@1' };
  expect(seen).toMatchObject([
    { ...common, attempt: 1, hints: [] },
    { ...common, attempt: 2, hints: [{ attempt: 1, stage: 'run', error: { message: 'a reason' } }] },
  ]);
});
