import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { followTask, type TaskSource } from './follow.ts';

const entry = (version: number, phase: string): HistoryEntry => ({
  version,
  at: version,
  type: `e${String(version)}`,
  data: { phase },
});
const LIFE = [
  entry(1, 'queued'),
  entry(2, 'executing'),
  entry(3, 'awaiting_approval'),
  entry(4, 'executing'),
  entry(5, 'completed'),
];

/** A scripted source: the versions in the store per read. */
const scripted = (
  stored: readonly (number | Error)[],
): {
  readonly source: TaskSource;
  readonly state: { asked: number[]; stopped: boolean };
  readonly ring: () => void;
} => {
  const state: { asked: number[]; stopped: boolean } = { asked: [], stopped: false };
  let ring: () => void = () => undefined;
  return {
    state,
    ring: () => ring(),
    source: {
      history: async (after) => {
        const has = stored[Math.min(state.asked.length, stored.length - 1)];
        state.asked.push(after);
        if (has instanceof Error) throw has;
        return LIFE.slice(after, has);
      },
      watch: async (onChange) => {
        ring = onChange;
        return {
          stop: async () => {
            state.stopped = true;
          },
        };
      },
    },
  };
};

const follow = async (source: TaskSource, askEveryMs = 1) => {
  const versions: number[] = [];
  const phase = await followTask(source, ({ version }) => versions.push(version), askEveryMs);
  return { versions, phase };
};

describe('following a task', () => {
  test('a task that has ended is shown completely', async () => {
    const { source, state } = scripted([5]);
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
    expect(state).toEqual({ asked: [0], stopped: true });
  });

  test('a message on the bus leads to a read after the last version', async () => {
    const { source, state, ring } = scripted([3, 5]);
    // Without a message the follower would wait for an hour.
    const following = follow(source, 3_600_000);
    ring();
    expect(await following).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
    expect(state.asked).toEqual([0, 3]);
  });

  test('an entry that the store repeats is shown once', async () => {
    const reads = [LIFE.slice(0, 3), LIFE];
    const source: TaskSource = {
      history: async () => reads.shift() ?? LIFE,
      watch: async () => ({ stop: async () => undefined }),
    };
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
  });

  test('a silent bus is replaced by polling', async () => {
    expect(await follow(scripted([1, 2, 3, 4, 5]).source)).toEqual({
      versions: [1, 2, 3, 4, 5],
      phase: 'completed',
    });
  });

  test('following survives an unavailable service', async () => {
    const away = new HoldpointError('RUNTIME_UNAVAILABLE', 'away');
    expect(await follow(scripted([2, away, away, 5]).source)).toEqual({
      versions: [1, 2, 3, 4, 5],
      phase: 'completed',
    });
  });

  test('following ends with a permanent error, then unsubscribes', async () => {
    const unknown = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'no such task');
    const { source, state } = scripted([unknown]);
    await expect(follow(source)).rejects.toBe(unknown);
    expect(state.stopped).toBe(true);
  });

  test('following continues at a circuit, which closes automatically', async () => {
    const events = [entry(1, 'circuit_open'), entry(2, 'executing'), entry(3, 'completed')];
    let asked = 0;
    const source: TaskSource = {
      history: async () => {
        asked += 1;
        return events.slice(0, asked);
      },
      watch: async () => ({ stop: async () => undefined }),
    };
    expect(await follow(source)).toEqual({ versions: [1, 2, 3], phase: 'completed' });
  });

  test.each(['completed', 'failed', 'cancelled', 'paused'])('following ends at %s', async (phase) => {
    const source: TaskSource = {
      history: async () => [entry(1, phase)],
      watch: async () => ({ stop: async () => undefined }),
    };
    expect(await follow(source)).toEqual({ versions: [1], phase });
  });

  test('following continues after a pause has ended', async () => {
    const events = [entry(1, 'paused'), entry(2, 'executing'), entry(3, 'failed')];
    const source: TaskSource = {
      history: async () => events,
      watch: async () => ({ stop: async () => undefined }),
    };
    expect(await follow(source)).toEqual({ versions: [1, 2, 3], phase: 'failed' });
  });
});
