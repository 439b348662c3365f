import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { LogLine } from '@holdpoint/contracts/task/log';
import type { JobStatus } from '@holdpoint/contracts/task/status';
import { describe, expect, test } from 'vitest';
import type { LogSource } from '../bus/logs.ts';
import { nodeView, runView } from '../../testing/runs.ts';
import { jobsOf } from './job.ts';
import { type JobSource, tailOnce, type TailOptions, tailUntilEnd } from './tail.ts';

const line = (seq: number, text: string, more: Partial<LogLine> = {}): LogLine => ({
  attempt: 1,
  step: 'run',
  stream: 'stdout',
  seq,
  line: text,
  at: seq,
  ...more,
});

/** A job that changes with each read, and its output so far. */
const scripted = (
  looks: readonly { readonly job: JobStatus | Error; readonly written: readonly LogLine[] }[],
) => {
  const state = { looks: 0, open: 0 };
  const now = () => looks[Math.min(Math.max(state.looks - 1, 0), looks.length - 1)];
  const watching = () => {
    state.open += 1;
    return {
      stop: async () => {
        state.open -= 1;
      },
    };
  };
  const source: JobSource = {
    load: async () => {
      state.looks += 1;
      const job = now()?.job ?? 'running';
      if (job instanceof Error) throw job;
      const [found] = jobsOf(runView('t-1', [nodeView('a', job)]));
      if (found === undefined) throw new Error('no job');
      return found;
    },
    watch: async () => watching(),
  };
  const logs: LogSource = {
    read: async (from, onLine) => {
      const written = now()?.written ?? [];
      for (const each of written.slice(from)) onLine(each, 'a');
      return written.length;
    },
    watch: () => watching(),
  };
  return { source, logs, state };
};

const tail = async (
  script: ReturnType<typeof scripted>,
  stream: TailOptions['stream'] = 'both',
  follow = tailUntilEnd,
) => {
  const seen: string[] = [];
  const options = { stream, onLine: (each: LogLine) => seen.push(each.line), askEveryMs: 1 };
  const { node } = await follow(script.source, script.logs, options);
  return { seen, job: node.job, open: script.state.open };
};

const A = line(1, 'a');
const B = line(2, 'b', { stream: 'stderr' });
const C = line(3, 'c');

describe('the output of a job', () => {
  test('tail prints the stored lines and does not wait', async () => {
    const script = scripted([{ job: 'running', written: [A, B] }]);
    expect(await tail(script, 'both', tailOnce)).toEqual({ seen: ['a', 'b'], job: 'running', open: 0 });
  });

  test('--stream selects one stream', async () => {
    const script = scripted([{ job: 'running', written: [A, B, C] }]);
    expect((await tail(script, 'stderr', tailOnce)).seen).toEqual(['b']);
  });

  test('--follow prints late lines up to the end, then unsubscribes', async () => {
    const script = scripted([
      { job: 'running', written: [] },
      { job: 'running', written: [A] },
      { job: 'running', written: [A, B] },
      { job: 'failed', written: [A, B, C] },
    ]);
    expect(await tail(script)).toEqual({ seen: ['a', 'b', 'c'], job: 'failed', open: 0 });
  });

  test('--follow ends when the job is stuck, because only a person continues it', async () => {
    const script = scripted([
      { job: 'running', written: [A] },
      { job: 'recovering', written: [A] },
      { job: 'escalated', written: [A, B] },
    ]);
    expect(await tail(script)).toEqual({ seen: ['a', 'b'], job: 'escalated', open: 0 });
  });

  test('a duplicate line is printed once', async () => {
    const script = scripted([{ job: 'succeeded', written: [A, A, B, A, C, B] }]);
    expect((await tail(script)).seen).toEqual(['a', 'b', 'c']);
  });

  test('a restarted step and the next attempt are printed too', async () => {
    const again = line(1, 'a again', { at: 50 });
    const next = line(1, 'second', { attempt: 2, at: 60 });
    const script = scripted([{ job: 'succeeded', written: [A, C, again, next] }]);
    expect((await tail(script)).seen).toEqual(['a', 'c', 'a again', 'second']);
  });

  test('tail survives an unavailable service', async () => {
    const away = new HoldpointError('RUNTIME_UNAVAILABLE', 'away');
    const script = scripted([
      { job: 'running', written: [A] },
      { job: away, written: [A] },
      { job: 'succeeded', written: [A, C] },
    ]);
    expect(await tail(script)).toMatchObject({ seen: ['a', 'c'], job: 'succeeded' });
  });

  test('tail ends with a permanent error, then unsubscribes', async () => {
    const gone = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'gone');
    const script = scripted([
      { job: 'running', written: [A] },
      { job: gone, written: [A] },
    ]);
    await expect(tail(script)).rejects.toBe(gone);
    expect(script.state.open).toBe(0);
  });
});
