import type { Artifact } from '@holdpoint/contracts/artifact';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepChange } from '../../testing/plan-repository.ts';
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

test('an agent reads the prompt on standard input, and what it prints is the payload of what the node gives', async () => {
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

test('an agent that reads nothing succeeds all the same', async () => {
  const result = await invoke('echo done', { payloads: prompted('x'.repeat(200_000)) });
  expect(result.outcome).toBe('succeeded');
});

test('what failed before follows the prompt, under a heading', async () => {
  const result = await invoke('cat', { hint: 'tests are red\n' });
  const text = result.payloads?.[LABEL]?.['text'];
  expect(text).toMatch(/^Write a plan\.\n\n## The last attempt was not accepted\n/);
  expect(text).toContain('tests are red');
});

test('it works in the worktree', async () => {
  const worktree = '.holdpoint/worktrees/w';
  await repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', worktree);
  const result = await invoke('pwd', { context: { worktree } });
  expect(result.payloads?.[LABEL]?.['text']).toBe(`${repository.path}/${worktree}\n`);
});

test('its arguments are taken as they are: no shell sees them', async () => {
  const result = await invoke('', { agent: ['printf', '%s|', '$HOME', '; touch x', '*'] });
  expect(result.payloads?.[LABEL]?.['text']).toBe('$HOME|; touch x|*|');
});

test('its lines are seen as they are printed', async () => {
  const lines: string[] = [];
  await repository.step(
    invokeAgent,
    { payloads: prompted('x'), agent: ['sh', '-c', 'echo one; echo two >&2'] },
    { context: { say: (stream, line) => void lines.push(`${stream} ${line}`) } },
  );
  expect(lines.toSorted()).toEqual(['stderr two', 'stdout one']);
});

test('of a long reply the start and the end are kept', async () => {
  const result = await invoke('echo first; head -c 300000 /dev/zero | tr "\\0" x; echo last');
  const text = result.payloads?.[LABEL]?.['text'];
  expect(Buffer.byteLength(typeof text === 'string' ? text : '')).toBeLessThanOrEqual(128 * 1_024);
  expect(text).toMatch(/^first\n[^]*bytes left out[^]*last\n$/);
});

describe('an agent that fails', () => {
  test('has its own exit code, what it said is kept, and its last words are the hint', async () => {
    const result = await invoke('echo half; echo broken >&2; exit 3');
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 3,
      hint: 'broken\n',
      payloads: { [LABEL]: { text: 'half\n', exit_code: 3 } },
    });
  });

  test('by taking too long is ended, and has the exit code 124', async () => {
    const result = await invoke('sleep 600', { timeoutMs: 1_000 });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 124 });
  });

  test('by not being there is said so', async () => {
    const result = await invoke('', { agent: ['no-such-agent'] });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 127 });
    expect(result.detail).toContain('there is no program "no-such-agent"');
  });

  test('by not being configured says where it is configured', async () => {
    const result = await repository.step(invokeAgent, { payloads: prompted('x') });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 1 });
    expect(result.detail).toContain('agent.command under [agents.default]');
  });
});

test('being told to end is no result of the agent', async () => {
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
