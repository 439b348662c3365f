import type { LogLine } from '@holdpoint/contracts/task/log';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { describe, expect, test } from 'vitest';
import { nodeView, runView } from '../../testing/runs.ts';
import { paintLine } from '../output/painted.ts';
import { createProgress } from './progress.ts';

const about = { id: 't-1', phase: 'executing' } as const;
const entry = (version: number, data: HistoryEntry['data'] & { readonly type: string }): HistoryEntry => ({
  version,
  at: version,
  type: data.type,
  data: { ...about, ...data },
});
const output = (seq: number, line: string): LogLine => ({
  attempt: 1,
  step: 'run',
  stream: 'stdout',
  seq,
  line,
  at: seq,
});

/** The printed lines of one read after each of these states of log and history. */
const printed = async (
  reads: readonly {
    readonly log?: readonly (readonly [node: string, line: LogLine])[];
    readonly history?: readonly HistoryEntry[];
  }[],
) => {
  const text: string[] = [];
  let now: (typeof reads)[number] = {};
  const source = {
    logs: {
      read: async (from: number, onLine: (line: LogLine, node: string) => void) => {
        const log = now.log ?? [];
        for (const [node, line] of log.slice(from)) onLine(line, node);
        return log.length;
      },
      watch: () => ({ stop: async () => undefined }),
    },
    history: async (after: number) => (now.history ?? []).filter(({ version }) => version > after),
  };
  const progress = createProgress(source, (lines) =>
    text.push(...lines.map((line) => paintLine(line, false))),
  );
  for (const read of reads) {
    now = read;
    await progress.onLoad(runView('t-1', [], { version: read.history?.at(-1)?.version ?? 0 }));
  }
  return text;
};

describe('the progress of a followed run', () => {
  test('every line of output is printed once, of every job, however fast it is written', async () => {
    const first = [
      ['a', output(1, 'one')] as const,
      ['a', output(2, 'two')] as const,
      ['b', output(1, 'b')] as const,
    ];
    const second = [...first, ['a', output(2, 'two')] as const, ['a', output(3, 'three')] as const];
    expect(await printed([{ log: first }, { log: second }, { log: second }])).toEqual([
      '[t-1/a] one',
      '[t-1/a] two',
      '[t-1/b] b',
      '[t-1/a] three',
    ]);
  });

  test('a stop gate that failed and led back prints its failure, although no status shows it', async () => {
    const looped = entry(7, {
      type: 'restarted',
      node: 'stage_commit',
      nodes: ['stage_commit', 'stop_gate'],
      route: 'stop_gate',
      hint: 'the stop condition ended with exit code 1',
    });
    expect(await printed([{ history: [looped] }, { history: [looped] }])).toEqual([
      '[run:t-1] t-1/stop_gate => failed (the stop condition ended with exit code 1)',
      '[run:t-1] t-1/stop_gate => leads back to t-1/stage_commit',
    ]);
  });

  test('a resolved conflict prints where it leads back to', async () => {
    const looped = entry(7, { type: 'restarted', node: 'merge', nodes: ['merge'], route: 'resolve' });
    expect(await printed([{ history: [looped] }])).toEqual([
      '[run:t-1] t-1/resolve => leads back to t-1/merge',
    ]);
  });

  test('every failed attempt is printed with its error and the attempt that follows', async () => {
    const failed = entry(7, {
      type: 'node_failed',
      node: 'deploy',
      attempt: 1,
      outcome: 'failed',
      error: { code: 'NODE_FAILED', message: 'exit code 2' },
    });
    const again = entry(8, { type: 'node_retrying', node: 'deploy', attempt: 2, delayMs: 0 });
    expect(await printed([{ history: [failed, again] }])).toEqual([
      '[run:t-1] t-1/deploy => failed (NODE_FAILED: exit code 2)',
      '[run:t-1] t-1/deploy => attempt 2 follows',
    ]);
  });

  test('a status is printed with its details', async () => {
    const text: string[] = [];
    const logs = { read: async () => 0, watch: () => ({ stop: async () => undefined }) };
    const progress = createProgress({ logs, history: async () => [] }, (lines) =>
      text.push(...lines.map((line) => paintLine(line, false))),
    );
    const node = nodeView('a', 'failed', { error: { code: 'NODE_FAILED', message: 'exit code 1' } });
    await progress.onStatus(node, runView('t-1', [node]));
    expect(text).toEqual(['[run:t-1] t-1/a => failed (NODE_FAILED: exit code 1)']);
  });
});
