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

/** A scripted source: the content of the store per read, and the preceding announcements. */
const scripted = (
  stored: readonly (number | Error)[],
  said: Readonly<Record<number, readonly (HistoryEntry | undefined)[]>> = {},
): { readonly source: TaskSource; readonly state: { asked: number; stopped: boolean } } => {
  const state = { asked: 0, stopped: false };
  let tell: (entry: HistoryEntry | undefined) => void = () => undefined;
  return {
    state,
    source: {
      history: async () => {
        const has = stored[Math.min(state.asked, stored.length - 1)];
        for (const fact of said[state.asked] ?? []) tell(fact);
        state.asked += 1;
        if (has instanceof Error) throw has;
        return LIFE.slice(0, has);
      },
      watch: async (onFact) => {
        tell = onFact;
        return {
          stop: async () => {
            state.stopped = true;
          },
        };
      },
    },
  };
};

const follow = async (source: TaskSource) => {
  const versions: number[] = [];
  const phase = await followTask(source, ({ version }) => versions.push(version), 1);
  return { versions, phase };
};

describe('following a task', () => {
  test('a task that has ended is shown completely', async () => {
    const { source, state } = scripted([5]);
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
    expect(state).toEqual({ asked: 1, stopped: true });
  });

  test('events from the bus are shown without another read', async () => {
    const { source, state } = scripted([3], { 0: LIFE.slice(3) });
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
    expect(state.asked).toBe(1);
  });

  test('each event is shown once and in order, despite duplicates and reordering', async () => {
    const { source } = scripted([1], { 0: [LIFE[4], LIFE[2], LIFE[0], LIFE[2], LIFE[1], LIFE[4], LIFE[3]] });
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
  });

  test('events that the bus lost are read from the store', async () => {
    const { source, state } = scripted([1, 5], { 0: [LIFE[3]] });
    expect(await follow(source)).toEqual({ versions: [1, 2, 3, 4, 5], phase: 'completed' });
    expect(state.asked).toBe(2);
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
