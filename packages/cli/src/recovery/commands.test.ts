import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { OUTPUT_MAX } from '@holdpoint/contracts/recovery/commands';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const verdict = {
  kind: 'retry',
  delayMs: 0,
  class: 'VERIFICATION_FAILED',
  rule: 'verdicts@3/verification',
  reason: 'a check failed; a different approach may pass it',
  classification: { rule: 'classes@2/vitest', evidence: 'Tests  3 failed' },
};
const failed = {
  task: 't-1',
  node: 'build',
  attempt: 1,
  at: NOW - 60_000,
  session: 1,
  outcome: 'failed',
  approach: 'a parser by hand\nin one file',
  error: { code: 'NODE_FAILED', message: 'exit code 1\nand more' },
  fingerprint: '0123456789abcdef',
  class: 'VERIFICATION_FAILED',
  verdict,
  files: Array.from({ length: 10 }, (_, i) => `src/${String(i)}.ts`),
  usage: { inputTokens: 1_200, outputTokens: 300, costUsd: 0.42, durationMs: 125_000 },
};
const passed = {
  task: 't-1',
  node: 'check',
  attempt: 2,
  session: 2,
  outcome: 'succeeded',
  good: 'c'.repeat(40),
};
const stuck = {
  task: 't-1',
  node: 'build',
  attempt: 3,
  class: 'VERIFICATION_FAILED',
  reason: 'the check failed as often as the limit allows',
  since: NOW,
  attempts: 3,
  goal: 'Greet people',
};

describe('recovery history', () => {
  const type = (words: readonly string[], history: unknown) =>
    typeLine(['recovery', 'history', ...words], { 'recovery.history': history });

  test('the history of a task shows every attempt of every job, and stuck jobs', async () => {
    const { out, calls } = await type(['t-1'], { items: [failed, passed], stuck: [stuck] });
    expect(calls).toEqual([['recovery.history', { task: 't-1' }]]);
    expect(out.split('\n').map((line) => line.replaceAll(/ {2,}/g, '  '))).toEqual([
      'Job  #  Session  Time  Outcome  Class  Verdict  Took  Cost',
      'build  1  1  2026-01-15 09:30:00Z  failed  VERIFICATION_FAILED  retry  2 min  $0.42',
      '  approach  a parser by hand…',
      '  because  classes@2/vitest: Tests  3 failed',
      '  verdict  a check failed; a different approach may pass it (verdicts@3/verification)',
      '  error  NODE_FAILED: exit code 1…',
      '  files  src/0.ts, src/1.ts, src/2.ts, src/3.ts, src/4.ts, src/5.ts, src/6.ts, src/7.ts, and 2 more',
      expect.stringMatching(/^check {2}2 {2}2 {2}succeeded *$/),
      '  good  a check passed on cccccccccccc',
      't-1/build is stuck since 2026-01-15 09:31:00Z: VERIFICATION_FAILED: the check failed as often as the limit allows: holdpoint recovery report t-1/build',
      '',
    ]);
  });

  test('the history of a circular job names the attempts with the same approach', async () => {
    const same = [
      { attempt: 1, similarity: 1 },
      { attempt: 2, similarity: 0.83 },
    ];
    const circular = { ...failed, attempt: 3, verdict: { ...verdict, same } };
    const { out } = await type(['t-1/build'], { items: [circular], stuck: [] });
    expect(out).toMatch(/^ +same as +attempt 1 \(1\), attempt 2 \(0\.83\)$/m);
    const { out: json } = await type(['t-1/build', '--json'], { items: [circular], stuck: [] });
    expect(JSON.parse(json)).toMatchObject({ attempts: [{ same_approach: same }] });
  });

  test('the history of a job does not repeat its name', async () => {
    const { out, calls } = await type(['t-1/build'], { items: [failed], stuck: [] });
    expect(calls).toEqual([['recovery.history', { task: 't-1', node: 'build' }]]);
    expect(out).toMatch(/^# +Session/);
  });

  test('an empty history says so', async () => {
    const { out } = await type(['t-1/build'], { items: [], stuck: [] });
    expect(out).toBe('no attempts of t-1/build\n');
  });

  test('the history is exported as JSON', async () => {
    const { out } = await type(['t-1/build', '--json'], { items: [failed], stuck: [stuck] });
    expect(JSON.parse(out)).toEqual({
      task: 't-1',
      node: 'build',
      status: 'stuck',
      attempts: [
        {
          session: 1,
          timestamp: '2026-01-15T09:30:00.000Z',
          approach: 'a parser by hand\nin one file',
          success: false,
          error: 'Tests  3 failed (exit code 1)',
          error_code: 'NODE_FAILED',
          node: 'build',
          attempt: 1,
          outcome: 'failed',
          class: 'VERIFICATION_FAILED',
          because: verdict.classification,
          same_approach: [],
          verdict: { kind: 'retry', rule: verdict.rule, reason: verdict.reason },
          fingerprint: '0123456789abcdef',
          files: failed.files,
          duration_ms: 125_000,
          cost_usd: 0.42,
          input_tokens: 1_200,
          output_tokens: 300,
          good_commit: null,
        },
      ],
      stuck_subtasks: [
        {
          subtask_id: 't-1/build',
          reason: stuck.reason,
          escalated_at: '2026-01-15T09:31:00.000Z',
          attempt_count: 3,
          class: 'VERIFICATION_FAILED',
        },
      ],
    });
  });

  test.each([
    [[failed, passed], 'succeeded', true],
    [[passed, failed], 'failed', false],
    [[{ ...passed, outcome: 'in_doubt' }], 'failed', false],
    [[], 'none', undefined],
  ])('the status of the history is that of the last attempt', async (items, status, success) => {
    const { out } = await type(['t-1', '--json'], { items, stuck: [] });
    const exported = JSON.parse(out) as { status: string; attempts: { success: boolean }[] };
    expect(exported.status).toBe(status);
    expect(exported.attempts.at(-1)?.success).toBe(success);
    expect(exported).not.toHaveProperty('node');
  });

  test.each(['t.1', 't-1/a/b', 't-1/', '/a'])('%s is not a target', async (name) => {
    expect(await type([name], {})).toMatchObject({ code: 2, calls: [] });
  });
});

describe('recovery stuck', () => {
  test('recovery stuck lists every page with the command to resolve a job', async () => {
    const other = { ...stuck, node: 'test', goal: undefined };
    const page = ({ after }: { after?: string }) =>
      after === undefined ? { items: [stuck], next: 'x' } : { items: [other] };
    const { out, calls } = await typeLine(['recovery', 'stuck'], { 'recovery.stuck': page });
    expect(calls.map(([, asked]) => asked)).toEqual([{ limit: 500 }, { limit: 500, after: 'x' }]);
    expect(out).toMatch(
      /^t-1\/build +VERIFICATION_FAILED +2026-01-15 09:31:00Z +3 +the check failed .* Greet people$/m,
    );
    expect(out).toMatch(/holdpoint recovery resolve <job> retry\|skip\|done\|cancel\n$/);
    const asJson = await typeLine(['recovery', 'stuck', '--json'], { 'recovery.stuck': { items: [stuck] } });
    expect(JSON.parse(asJson.out)).toEqual({ items: [stuck] });
  });

  test('recovery stuck without stuck jobs says so', async () => {
    const { out } = await typeLine(['recovery', 'stuck'], { 'recovery.stuck': { items: [] } });
    expect(out).toBe('no jobs are stuck\n');
  });
});

describe('recovery report', () => {
  const report = '# t-1/build is stuck\n\n- one\n\u001b[2J\n';
  const type = (words: readonly string[], answer: object) =>
    typeLine(['recovery', 'report', ...words], { 'recovery.report': answer });

  test('recovery report prints escaped Markdown', async () => {
    const { out, err, calls } = await type(['t-1/build'], { job: stuck, stuck: true, report });
    expect(calls).toEqual([['recovery.report', { task: 't-1', node: 'build' }]]);
    expect({ out, err }).toEqual({ out: '# t-1/build is stuck\n\n- one\n\\u{1b}[2J\n', err: '' });
  });

  test('recovery report prints the text on a terminal, without Markdown escapes', async () => {
    const marked = '- Class: **UNKNOWN**, ERR\\_FORBIDDEN: a \\> b\n';
    const terminal = { columns: 80, ansi: false, colour: false, ask: () => Promise.resolve(undefined) };
    const { out } = await typeLine(
      ['recovery', 'report', 't-1/build'],
      { 'recovery.report': { job: stuck, stuck: true, report: marked } },
      { terminal },
    );
    expect(out).toBe('- Class: UNKNOWN, ERR_FORBIDDEN: a > b\n');
  });

  test('recovery report says when the job is no longer stuck', async () => {
    const { err } = await type(['t-1/build'], { job: stuck, stuck: false, report });
    expect(err).toBe('t-1/build is no longer stuck\n');
  });

  test('recovery report prints JSON, and needs a job', async () => {
    const answer = { job: stuck, stuck: false, report };
    const { out, err } = await type(['t-1/build', '--json'], answer);
    expect(JSON.parse(out)).toEqual(answer);
    expect(err).toBe('');
    expect((await type(['t-1'], answer)).code).toBe(2);
  });
});

describe('recovery resolve', () => {
  const ack = { id: 't-1', phase: 'executing', version: 9 };
  const type = (...words: readonly string[]) =>
    typeLine(
      ['recovery', 'resolve', 't-1/build', ...words],
      Object.fromEntries(['retry', 'skip', 'done', 'cancel'].map((verb) => [`orchestrator.${verb}`, ack])),
    );

  test.each(['retry', 'skip', 'done', 'cancel'])('recovery resolve with %s calls the API', async (how) => {
    const { out, calls } = await type(how, '--reason', 'seen to', '--by', 'ada');
    expect(calls).toEqual([
      [`orchestrator.${how}`, { id: 't-1', node: 'build', reason: 'seen to', by: 'ada' }],
    ]);
    expect(out).toBe(`t-1/build: ${how} recorded, the task is executing\n`);
  });

  test('done can set outputs for other jobs', async () => {
    const { calls } = await type('done', '--output', 'digest=abc', '--output', 'size:=3');
    expect(calls[0]?.[1]).toEqual({ id: 't-1', node: 'build', outputs: { digest: 'abc', size: 3 } });
    expect(await type('skip', '--output', 'a=b')).toMatchObject({ code: 2, calls: [] });
  });

  test('recovery resolve refuses unknown answers', async () => {
    expect(await type('ignore')).toMatchObject({ code: 2, calls: [] });
    expect(await type()).toMatchObject({ code: 2, calls: [] });
  });
});

describe('recovery classes', () => {
  const DAY = 86_400_000;
  const midnight = Date.UTC(2026, 0, 14);
  const answer = {
    from: midnight,
    to: midnight + 2 * DAY,
    bucket: 'day',
    items: [
      { at: midnight, class: 'TRANSIENT', count: 12 },
      { at: midnight + DAY, class: 'BROKEN_BUILD', count: 1 },
      { at: midnight + DAY, class: 'TRANSIENT', count: 3 },
    ],
  };
  const type = (words: readonly string[], more: object = {}) =>
    typeLine(['recovery', 'classes', ...words], { 'recovery.failure_counts': { ...answer, ...more } });

  test('recovery classes counts the last week by UTC day with totals', async () => {
    const { out, calls } = await type([]);
    expect(calls).toEqual([['recovery.failure_counts', { from: NOW - 7 * DAY, to: NOW, bucket: 'day' }]]);
    expect(out).toBe(
      [
        'Day (UTC)   BROKEN_BUILD  TRANSIENT  All',
        '2026-01-14  0             12         12',
        '2026-01-15  1             3          4',
        'all         1             15         16',
        '',
      ].join('\n'),
    );
  });

  test('a short period is counted by hour without --bucket', async () => {
    const { out, calls } = await type(['--last', '24h'], { bucket: 'hour' });
    expect(calls).toEqual([['recovery.failure_counts', { from: NOW - DAY, to: NOW, bucket: 'hour' }]]);
    expect(out).toMatch(/^2026-01-14 00:00Z +0 +12 +12$/m);
    const days = await type(['--last', '24h', '--bucket', 'day']);
    expect(days.calls[0]?.[1]).toMatchObject({ bucket: 'day' });
  });

  test('recovery classes prints JSON, and says when nothing failed', async () => {
    expect(JSON.parse((await type(['--json'])).out)).toEqual(answer);
    expect((await type([], { items: [] })).out).toBe('no failed attempts\n');
  });

  test.each([
    [['--last', '401d']],
    [['--last', '401h', '--bucket', 'hour']],
    [['--last', 'year']],
    [['--bucket', 'week']],
  ])('recovery classify %j is a usage error', async (words) => {
    expect(await type(words)).toMatchObject({ code: 2, calls: [] });
  });
});

describe('recovery classify', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdpoint-classify-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const answer = {
    class: 'BROKEN_BUILD',
    classification: { rule: 'classes@2/tsc', evidence: 'error TS2304' },
    fingerprint: '0123456789abcdef',
  };
  const type = (words: readonly string[], more: Parameters<typeof typeLine>[2] = {}) =>
    typeLine(
      ['recovery', 'classify', ...words],
      { 'recovery.classify': answer },
      { directory: folder, ...more },
    );
  /** Returns a text piece by piece. */
  const giving = (text: string, size = 7) => {
    let left = Buffer.from(text);
    return (into: Buffer): number => {
      const length = left.copy(into, 0, 0, size);
      left = left.subarray(length);
      return length;
    };
  };

  test('a file is classified with rule and evidence', async () => {
    writeFileSync(join(folder, 'build.log'), 'error TS2304: gone\n');
    const { out, calls } = await type(['build.log', '--exit-code', '2', '--uses', 'control.gate.cicd']);
    expect(calls).toEqual([
      ['recovery.classify', { output: 'error TS2304: gone\n', exitCode: 2, uses: 'control.gate.cicd' }],
    ]);
    expect(out).toBe(
      'class        BROKEN_BUILD\nrule         classes@2/tsc\nevidence     error TS2304\nfingerprint  0123456789abcdef\n',
    );
    const asJson = await type(['build.log', '--json']);
    expect(JSON.parse(asJson.out)).toEqual(answer);
  });

  test('standard input is read to its end, and only the tail is sent', async () => {
    const { calls } = await type([], { in: giving('ü'.repeat(OUTPUT_MAX * 3) + 'end', 1_001) });
    expect(calls[0]?.[1]).toEqual({ output: `${'ü'.repeat(OUTPUT_MAX - 3)}end` });
  });

  test('invalid bytes are replaced', async () => {
    writeFileSync(join(folder, 'log'), Buffer.from([0x61, 0, 0xff, 0x62]));
    const { calls } = await type(['log']);
    expect(calls[0]?.[1]).toEqual({ output: 'a\uFFFD\uFFFDb' });
  });

  test('the rules of the repository apply', async () => {
    mkdirSync(join(folder, '.git'));
    mkdirSync(join(folder, '.holdpoint'));
    writeFileSync(join(folder, '.holdpoint', 'recovery.toml'), '[thresholds]\nUNKNOWN = 4\n');
    const { calls } = await type([], { in: giving('x') });
    expect(calls[0]?.[1]).toEqual({ output: 'x', rules: { thresholds: { UNKNOWN: 4 } } });
    writeFileSync(join(folder, '.holdpoint', 'recovery.toml'), '[thresholds]\nUNKNOWN = 0\n');
    const wrong = await type([], { in: giving('x') });
    expect(wrong).toMatchObject({ code: 1, calls: [] });
    expect(wrong.err).toContain('WORKFLOW_RECOVERY_VALUE_INVALID');
  });

  test.each([
    [['nothing.log'], 'nothing.log cannot be read'],
    [['.'], '. cannot be read'],
    [[], 'name a file'],
    [['--exit-code', '256'], '0 to 255'],
    [['--uses', 'x y'], 'a label'],
  ])('recovery classify %j is a usage error', async (words, said) => {
    const { code, err, calls } = await type(words);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
    expect(err).toContain(said);
  });
});

test('a refusal prints its code', async () => {
  const { code, err } = await typeLine(['recovery', 'report', 't-1/build'], {
    'recovery.report': new HoldpointError('RECOVERY_UNKNOWN_JOB' as 'RUNTIME_POISON', 'it was never stuck'),
  });
  expect({ code, err }).toEqual({ code: 1, err: 'error RECOVERY_UNKNOWN_JOB: it was never stuck\n' });
});
