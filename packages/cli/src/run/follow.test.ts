import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { describe, expect, test } from 'vitest';
import { nodeView, runView } from '../../testing/runs.ts';
import { followRun } from './follow.ts';

const away = new HoldpointError('RUNTIME_UNAVAILABLE', 'away');

const follow = async (
  looks: readonly (TaskView | Error)[],
  isLeft: (run: TaskView) => boolean | void = () => undefined,
) => {
  const told: string[] = [];
  const loaded: number[] = [];
  let [look, open] = [0, 0];
  const source = {
    load: async () => {
      const now = looks[Math.min(look, looks.length - 1)];
      look += 1;
      if (now === undefined || now instanceof Error) throw now ?? new Error('no look');
      return now;
    },
    watch: async () => {
      open += 1;
      return {
        stop: async () => {
          open -= 1;
        },
      };
    },
  };
  const onlooker = {
    onStatus: (node: { id: string; job: string }) => void told.push(`${node.id} ${node.job}`),
    onLoad: ({ version }: TaskView) => void loaded.push(version),
    onRead: isLeft,
  };
  const ended = await followRun(source, onlooker, 1).finally(() => expect(open).toBe(0));
  expect(loaded.length).toBeGreaterThan(0);
  return { told, phase: ended.phase };
};

describe('following a run', () => {
  test('each change of a job is reported once, until the run ends', async () => {
    const begun = runView('t-1', [nodeView('a', 'running'), nodeView('b', 'waiting_on_deps')]);
    const on = runView('t-1', [nodeView('a', 'succeeded'), nodeView('b', 'running')]);
    const over = runView('t-1', [nodeView('a', 'succeeded'), nodeView('b', 'failed')], { phase: 'failed' });
    expect(await follow([begun, begun, on, over])).toEqual({
      told: ['a running', 'a succeeded', 'b running', 'b failed'],
      phase: 'failed',
    });
  });

  test('following continues while the run waits or is paused', async () => {
    const waits = runView('t-1', [nodeView('a', 'waiting_on_approval')], { phase: 'awaiting_approval' });
    const paused = runView('t-1', [nodeView('a', 'paused')], { phase: 'paused' });
    const over = runView('t-1', [nodeView('a', 'succeeded')], { phase: 'completed' });
    expect((await follow([waits, paused, over])).phase).toBe('completed');
  });

  test('following ends when the run is left to a person', async () => {
    const stuck = runView('t-1', [nodeView('a', 'escalated')], { phase: 'paused' });
    const { told, phase } = await follow([stuck, stuck], (run) => run.phase === 'paused');
    expect({ told, phase }).toEqual({ told: ['a escalated'], phase: 'paused' });
  });

  test('following survives an unavailable service, but not at the first read', async () => {
    const begun = runView('t-1', [nodeView('a', 'running')]);
    const over = runView('t-1', [nodeView('a', 'succeeded')], { phase: 'completed' });
    expect((await follow([begun, away, away, over])).told).toEqual(['a running', 'a succeeded']);
    await expect(follow([away])).rejects.toBe(away);
  });
});
