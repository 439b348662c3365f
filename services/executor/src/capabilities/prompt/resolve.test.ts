import { mkdir, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepChange } from '../../../testing/plan-repository.ts';
import { resolvePrompt } from './resolve.ts';
import { PROMPT_BYTES_MAX } from './prompt-text.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const PROMPT: Artifact = { type: 'custom', typeId: 'prompt_text', key: 'main' };
const resolve = (args: Record<string, string>, change: StepChange = {}) =>
  repository.step(resolvePrompt, { args, produces: [PROMPT], ...change });
const textOf = async (args: Record<string, string>, change?: StepChange): Promise<unknown> => {
  const { outcome, payloads, detail } = await resolve(args, change);
  expect([outcome, detail]).toEqual(['succeeded', detail]);
  return payloads?.['custom:prompt_text:main']?.['text'];
};

test("the prompt is the payload of the node's artifact", async () => {
  expect((await resolve({ prompt_text: 'Write.' })).payloads).toEqual({
    'custom:prompt_text:main': { type_id: 'prompt_text', key: 'main', text: 'Write.' },
  });
});

test('text precedes file, file precedes command, command precedes script', async () => {
  await repository.write('prompt.md', 'file');
  const all = {
    prompt_text: 'text',
    prompt_file: 'prompt.md',
    command: 'printf command',
    script: 'printf script',
  };
  const { prompt_text: _text, ...rest } = all;
  const { prompt_file: _file, ...commands } = rest;
  expect(await textOf(all)).toBe('text');
  expect(await textOf(rest)).toBe('file');
  expect(await textOf(commands)).toBe('command');
  expect(await textOf({ script: 'printf script' })).toBe('script');
});

test('placeholders stand for arguments, files and the folder', async () => {
  await repository.write('notes.md', 'not {{rendered}}');
  const text = await textOf(
    { prompt_text: '{{topic}} {{other.slug}} {{file:notes.md}} {{execution_root}}', topic: 'oak' },
    { values: { 'other.slug': 'elm' } },
  );
  expect(text).toBe(`oak elm not {{rendered}} ${repository.path}`);
});

test('files are read from the worktree', async () => {
  const worktree = '.holdpoint/worktrees/w';
  await repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', worktree);
  await repository.write(`${worktree}/notes.md`, 'there');
  const text = await textOf(
    { prompt_text: '{{file:notes.md}} {{execution_root}}' },
    { context: { worktree } },
  );
  expect(text).toBe(`there ${join(repository.path, worktree)}`);
});

test('all missing values are named, and there is no payload', async () => {
  const result = await resolve({ prompt_text: '{{who}} {{}} {{file:gone.md}} {{open' });
  expect(result).toMatchObject({ outcome: 'failed' });
  expect(result.payloads).toBeUndefined();
  for (const part of ['{{who}}', '{{}}', '{{file:gone.md}}', 'unclosed placeholder'])
    expect(result.detail).toContain(part);
});

test('a file outside the repository is not read', async () => {
  await repository.write('../secret.md', 'secret');
  await symlink(join(repository.outside, 'secret.md'), join(repository.path, 'link.md'));
  await symlink(repository.outside, join(repository.path, 'folder'));
  await mkdir(join(repository.path, 'pipe'));
  for (const path of ['../secret.md', '/etc/passwd', 'link.md', 'folder/secret.md', '.git/config', 'pipe']) {
    expect((await resolve({ prompt_text: `{{file:${path}}}` })).outcome).toBe('failed');
    expect((await resolve({ prompt_file: path })).outcome).toBe('failed');
  }
});

test('a file or an output that is too long fails', async () => {
  await repository.write('long.md', '');
  await truncate(join(repository.path, 'long.md'), PROMPT_BYTES_MAX + 1);
  const script = `head -c ${String(PROMPT_BYTES_MAX + 1)} /dev/zero | tr '\\0' x`;
  for (const args of [{ prompt_file: 'long.md' }, { prompt_text: '{{file:long.md}}' }, { script }]) {
    expect((await resolve(args)).outcome).toBe('failed');
  }
});

test('a failing command fails the prompt with its exit code', async () => {
  expect(await resolve({ command: 'echo half; exit 7' })).toMatchObject({ outcome: 'failed', exitCode: 7 });
});

test('an empty prompt fails', async () => {
  expect(await resolve({ script: 'true' })).toMatchObject({
    outcome: 'failed',
    detail: 'the prompt is empty',
  });
});

test('the hint of an earlier failure stays out of the prompt', async () => {
  expect(await textOf({ prompt_text: 'Write.' }, { hint: 'it did not build' })).toBe('Write.');
});

test.each([[[]], [[PROMPT, { ...PROMPT, key: 'other' }]]])(
  'the artifacts %j are not one prompt',
  async (produces) => {
    await expect(resolve({ prompt_text: 'x' }, { produces })).rejects.toThrow('expected one');
  },
);
