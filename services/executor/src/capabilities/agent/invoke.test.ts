import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepChange } from '../../../testing/plan-repository.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invokeAgent } from './invoke.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const PLAN: Artifact = { type: 'custom', typeId: 'plan_text', key: 'main' };
const DOC: Artifact = { type: 'plan_doc', slug: 'oak', branch: '' };
const LABEL = 'custom:plan_text:main';

const prompted = (text: string) => ({
  'custom:prompt_text:main': { type_id: 'prompt_text', key: 'main', text },
});
const invoke = (script: string, change: StepChange = {}) =>
  repository.step(invokeAgent, {
    payloads: prompted('Write a plan.'),
    produces: [PLAN, DOC],
    agent: ['sh', '-c', script],
    ...change,
  });

test('an agent reads the prompt on standard input, and its output is the payload', async () => {
  const result = await invoke('sed "s/^/> /"; echo aside >&2');
  expect(result).toMatchObject({ outcome: 'succeeded', exitCode: 0 });
  expect(result.payloads).toEqual({
    [LABEL]: {
      text: '> Write a plan.',
      stderr: 'aside\n',
      exit_code: 0,
      duration_ms: expect.any(Number) as number,
    },
  });
});

test('an agent that does not read its input succeeds', async () => {
  const result = await invoke('echo done', { payloads: prompted('x'.repeat(200_000)) });
  expect(result.outcome).toBe('succeeded');
});

test('the acceptance criteria of the task follow the prompt', async () => {
  const result = await invoke('cat', { acceptanceCriteria: ['it builds', 'it starts'], hint: 'red\n' });
  expect(result.payloads?.[LABEL]?.['text']).toMatch(
    /^Write a plan\.\n\n## Acceptance criteria\n\n1\. it builds\n2\. it starts\n\n## The last attempt/,
  );
});

test('an earlier failure follows the prompt under a heading', async () => {
  const result = await invoke('cat', { hint: 'tests are red\n' });
  const text = result.payloads?.[LABEL]?.['text'];
  expect(text).toMatch(/^Write a plan\.\n\n## The last attempt was not accepted\n/);
  expect(text).toContain('tests are red');
});

test('a hint with its own heading follows the prompt unchanged', async () => {
  const result = await invoke('cat', { hint: '## Earlier attempts\n\n1. tried a\n\n' });
  expect(result.payloads?.[LABEL]?.['text']).toBe('Write a plan.\n\n## Earlier attempts\n\n1. tried a\n');
});

test('the agent works in the worktree', async () => {
  const worktree = '.holdpoint/worktrees/w';
  await repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', worktree);
  const result = await invoke('pwd', { context: { worktree } });
  expect(result.payloads?.[LABEL]?.['text']).toBe(`${repository.path}/${worktree}\n`);
});

test('the agent gets its arguments unchanged, without a shell', async () => {
  const result = await invoke('', { agent: ['printf', '%s|', '$HOME', '; touch x', '*'] });
  expect(result.payloads?.[LABEL]?.['text']).toBe('$HOME|; touch x|*|');
});

test("the agent's lines are shown as they are printed", async () => {
  const lines: string[] = [];
  await repository.step(
    invokeAgent,
    { payloads: prompted('x'), agent: ['sh', '-c', 'echo one; echo two >&2'] },
    { context: { say: (stream, line) => void lines.push(`${stream} ${line}`) } },
  );
  expect(lines.toSorted()).toEqual(['stderr two', 'stdout one']);
});

test('a long reply keeps its start and its end', async () => {
  const result = await invoke('echo first; head -c 300000 /dev/zero | tr "\\0" x; echo last');
  const text = result.payloads?.[LABEL]?.['text'];
  expect(Buffer.byteLength(typeof text === 'string' ? text : '')).toBeLessThanOrEqual(128 * 1_024);
  expect(text).toMatch(/^first\n[^]*bytes omitted[^]*last\n$/);
});

describe('a failing agent', () => {
  test('a failing agent keeps its exit code and output, and its last words are the hint', async () => {
    const result = await invoke('echo half; echo broken >&2; exit 3');
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 3,
      hint: 'broken\n',
      payloads: { [LABEL]: { text: 'half\n', exit_code: 3 } },
    });
  });

  test('an agent that takes too long is stopped with exit code 124', async () => {
    const result = await invoke('sleep 600', { timeoutMs: 1_000 });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 124 });
  });

  test('a missing agent command is reported', async () => {
    const result = await invoke('', { agent: ['no-such-agent'] });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 127 });
    expect(result.detail).toContain('command not found: "no-such-agent"');
  });

  test('an agent that is not configured is reported with the setting', async () => {
    const result = await repository.step(invokeAgent, { payloads: prompted('x') });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 1 });
    expect(result.detail).toContain('set agent.command in [agents.default]');
  });
});

test('a cancelled agent has no result', async () => {
  const controller = new AbortController();
  await expect(
    repository.step(
      invokeAgent,
      { payloads: prompted('x'), agent: ['sh', '-c', 'echo begun; exec sleep 600'] },
      { context: { signal: controller.signal, say: () => controller.abort() } },
    ),
  ).rejects.toThrow('interrupted');
});

test.each([
  [{}],
  [{ ...prompted('a'), 'custom:prompt_text:other': { text: 'b' } }],
  [{ 'custom:prompt_text:main': {} }],
])('payloads of %j are not one prompt', async (payloads) => {
  await expect(invoke('cat', { payloads })).rejects.toMatchObject({
    body: { code: 'EXECUTOR_INVALID_ARGUMENTS' },
  });
});

describe("the agent's report", () => {
  const line = (report: object | string): string =>
    `HOLDPOINT-REPORT ${typeof report === 'string' ? report : JSON.stringify(report)}`;
  /** An agent with a fixed reply. */
  const saying = (text: string, exit = 0, change: StepChange = {}) =>
    invoke('', { agent: ['sh', '-c', `printf %s "$0"; exit ${String(exit)}`, text], ...change });

  test('a node that reports asks for the report at the end of the prompt', async () => {
    const asked = await invoke('cat', { reports: true, hint: '## Earlier attempts\n\n1. tried a' });
    const text = asked.payloads?.[LABEL]?.['text'];
    expect(text).toMatch(
      /^Write a plan\.\n\n## Earlier attempts\n\n1\. tried a\n\n## The end of your reply\n/,
    );
    expect(text).not.toContain('HOLDPOINT-REPORT');
    // A copy of the example is no report.
    expect(asked.report).toMatchObject({ approach: expect.stringMatching(/^Write a plan/) as string });
    expect(asked.report).not.toHaveProperty('stop');
    const plain = await invoke('cat');
    expect(plain.payloads?.[LABEL]?.['text']).toBe('Write a plan.');
  });

  test('a report is removed from the reply', async () => {
    const report = {
      approach: 'a parser by hand',
      done: 'the lexer',
      next: 'the rest',
      stop: 'done',
    } as const;
    const result = await saying(`All well.\n${line({ approach: 'an older one' })}\n${line(report)}\n`);
    expect(result).toMatchObject({ outcome: 'succeeded', report });
    expect(result.payloads?.[LABEL]?.['text']).toBe(`All well.\n${line({ approach: 'an older one' })}\n`);
  });

  test.each([
    [
      'in bold',
      '**HOLDPOINT-REPORT:** {"approach": "a", "stop": "gave_up"}',
      { approach: 'a', stop: 'gave_up' },
    ],
    ['as code', '`HOLDPOINT-REPORT {"approach": "a"}`', { approach: 'a' }],
    [
      'with fields of other types',
      line({ approach: 'a', done: 7, next: ['x'], stop: 'never' }),
      { approach: 'a' },
    ],
    [
      'too long',
      line({ approach: 'a'.repeat(2_001), done: 'd' }),
      { approach: 'a'.repeat(2_000), done: 'd' },
    ],
    ['with NUL characters', line('{"approach": "a\\u0000\\ud800b"}'), { approach: 'a\uFFFD\uFFFDb' }],
  ])('a report is understood %s', async (_, said, report) => {
    const result = await saying(`reply\n${said}\n`);
    const { usage, ...found } = result.report ?? {};
    expect(found).toEqual(report);
    expect(result.payloads?.[LABEL]?.['text']).toBe('reply\n');
    expect(usage).toEqual({ durationMs: expect.any(Number) as number });
  });

  test.each([line('{"approach"'), line('["a"]'), 'HOLDPOINT-REPORT'])(
    'an invalid report stays in the reply: %s',
    async (said) => {
      const result = await saying(`reply\n${said}\n`);
      expect(result.payloads?.[LABEL]?.['text']).toBe(`reply\n${said}\n`);
      expect(result.report?.approach).toBe(`reply\n${said}`);
    },
  );

  test('without a report the beginning of the reply is the report', async () => {
    expect((await saying(`${'x'.repeat(999)}😀 and on`)).report?.approach).toBe(`${'x'.repeat(999)}\uFFFD`);
    expect((await saying(' \n')).report).toEqual({ usage: { durationMs: expect.any(Number) as number } });
  });

  test('an exhausted context fails the attempt although the agent exits with 0', async () => {
    const result = await saying(`half done\n${line({ next: 'the rest', stop: 'context_exhausted' })}\n`);
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 0,
      detail: 'the agent exited with 0, and reports that its context is exhausted',
      hint: 'half done\n',
      report: { approach: 'half done', next: 'the rest', stop: 'context_exhausted' },
    });
  });
});

describe('a reply as one JSON object', () => {
  const reply = (change: object = {}) =>
    JSON.stringify({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'All well.\nHOLDPOINT-REPORT {"approach": "by hand"}',
      total_cost_usd: 0.25,
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        cache_creation_input_tokens: 100,
        cache_read_input_tokens: 1_000,
      },
      ...change,
    });
  const saying = (text: string, exit = 0) =>
    invoke('', { agent: ['sh', '-c', `printf %s "$0"; exit ${String(exit)}`, text] });
  const durationMs = expect.any(Number) as number;

  test('a JSON reply has its text and usage extracted', async () => {
    const result = await saying(`${reply()}\n`);
    expect(result).toMatchObject({ outcome: 'succeeded' });
    expect(result.payloads?.[LABEL]?.['text']).toBe('All well.');
    expect(result.report).toEqual({
      approach: 'by hand',
      usage: { inputTokens: 1_110, outputTokens: 7, costUsd: 0.25, durationMs },
    });
  });

  test('a JSON reply may lack all fields but its type', async () => {
    const odd = { usage: { input_tokens: 'many', output_tokens: 3 }, total_cost_usd: -1, result: undefined };
    expect((await saying(reply(odd))).report).toEqual({
      usage: { inputTokens: 0, outputTokens: 3, durationMs },
    });
    expect((await saying('{"type":"result"}')).report).toEqual({ usage: { durationMs } });
  });

  test.each([
    [
      'reports an error',
      { is_error: true, result: 'API Error: 529 overloaded' },
      'API Error: 529 overloaded',
    ],
    ['is out of turns', { subtype: 'error_max_turns', result: undefined }, 'error_max_turns'],
  ])('a JSON reply that %s fails with any exit code', async (_, change, hint) => {
    const result = await saying(reply(change));
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 0,
      detail: 'the agent exited with 0, and reports that it failed',
      hint: expect.stringContaining(hint) as string,
    });
  });

  test.each(['{"type":"other","result":"x"}', '{"type":"result"} and more', '{"type":"result"'])(
    'JSON of another kind is text: %s',
    async (text) => {
      expect((await saying(text)).payloads?.[LABEL]?.['text']).toBe(text);
    },
  );
});

describe('files changed by an agent', () => {
  const worktree = '.holdpoint/worktrees/w';
  const inWorktree = async (script: string): Promise<readonly string[] | undefined> => {
    const result = await invoke(script, { context: { worktree } });
    expect(result.outcome).toBe('succeeded');
    return result.report?.files;
  };
  beforeEach(async () => {
    await repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', worktree);
  });

  test('changed files are listed whether committed or not, and no others', async () => {
    await writeFile(join(repository.path, worktree, 'b.txt'), 'changed before');
    await writeFile(join(repository.path, worktree, 'c.txt'), 'new before');
    const files = await inWorktree(
      `mkdir d; echo x > d/new; echo x >> c.txt; git rm --quiet a.txt; git commit --quiet -m x
       echo ignored > .git-ignored; printf '.git-ignored\n' > .gitignore; git mv -k d/none e; printf x > 'ü
y'`,
    );
    expect(files).toEqual(['.gitignore', 'a.txt', 'c.txt', 'd/new', 'ü\ny']);
    expect(await inWorktree('true')).toEqual([]);
  });

  test('at most two hundred changed files are listed', async () => {
    expect(await inWorktree('for i in $(seq 1 250); do echo > f$i; done')).toHaveLength(200);
  });

  test('in a shared checkout no changed files are listed', async () => {
    expect((await invoke('touch x')).report).not.toHaveProperty('files');
  });

  test('an error while listing changed files is only a warning', async () => {
    const lines: string[] = [];
    const result = await repository.step(
      invokeAgent,
      { payloads: prompted('x'), context: { worktree }, agent: ['sh', '-c', 'rm .git; echo well'] },
      { context: { say: (_stream, text) => void lines.push(text) } },
    );
    expect(result).toMatchObject({ outcome: 'succeeded' });
    expect(result.report).not.toHaveProperty('files');
    expect(lines.join('\n')).toContain('warning: cannot determine which files have changed');
  });
});
