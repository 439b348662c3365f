import { describe, expect, onTestFailed, test } from 'vitest';
import { createChance, seedOfRun } from '../../kit/chance.ts';
import { startKilling } from './killer.ts';
import { runStages } from './scenario.ts';
import { type KillableStack, startKillableStack } from './stack.ts';
import type { Standing } from './end-state.ts';

/** Only a hanging workflow reaches this limit: a killed executor costs the lease of its step. */
const WITHIN_MS = 900_000;
/** Fewer kills would prove nothing. */
const KILLS_MIN = 8;

const withStack = async <Result>(work: (stack: KillableStack) => Promise<Result>): Promise<Result> => {
  const stack = await startKillableStack();
  try {
    return await work(stack);
  } finally {
    await stack.stop();
  }
};

/**
 * An interrupted agent that was rolled back leaves nothing: its completed runs are as many as the gate
 * required.
 */
const runs = (count: number): string => 'begin\nend\n'.repeat(count).trimEnd();

/** No process works in the repository, and git finds no damage. */
const TIDY = {
  branches: 'refs/heads/main',
  worktrees: [],
  status: '',
  problems: '',
  locks: [],
  attempts: '',
  processes: [],
};

describe('the four stage workflows, with a gate that fails twice, a conflict and a check that fails once', () => {
  let calm: Standing | undefined;

  test('the four workflows leave the promised state and nothing else', { timeout: WITHIN_MS }, async () => {
    calm = await withStack(runStages);
    expect(calm).toMatchObject({
      ...TIDY,
      replies: {
        'greeting.txt': 'hello, both',
        'greet.runs': runs(3),
        'part.runs': runs(2),
        'part.txt': 'part',
      },
    });
    expect(calm.commits.map((message) => message.split('\n', 1)[0])).toEqual([
      'feat: merge plan part',
      'feat: merge plan greet',
      'another greeting',
      'flows',
      'first',
    ]);
    expect(Object.values(calm.runs).map(({ outcome }) => outcome)).toEqual(Array(4).fill('succeeded'));
  });

  test('kill -9 of any service at any time only delays the workflows', { timeout: WITHIN_MS }, async () => {
    const seed = seedOfRun();
    onTestFailed(() => console.error(`HOLDPOINT_TEST_SEED=${String(seed)}`));
    const chance = createChance(seed);
    const round = async (stack: KillableStack) => {
      const stopKilling = startKilling(stack.services, chance);
      try {
        const standing = await runStages(stack);
        return { standing, kills: await stopKilling() };
      } finally {
        await stopKilling();
      }
    };
    // A fast machine ends before many kills: it runs another round.
    for (let killed = 0; killed < KILLS_MIN;) {
      const { standing, kills } = await withStack(round);
      expect(standing).toEqual(calm);
      const count = [...kills.values()].reduce((sum, each) => sum + each, 0);
      expect(count).toBeGreaterThan(0);
      killed += count;
    }
  });
});
