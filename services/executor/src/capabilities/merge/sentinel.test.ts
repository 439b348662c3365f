import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PlanRepository, planRepository } from '../../../testing/plan-repository.ts';
import { clearSentinel, readSentinel, sentinelPath, writeSentinel } from './sentinel.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const sentinelOf = (slug: string) => repository.with((tools) => readSentinel(tools.repository, slug));

test('a sentinel names the conflicting branches and its task', async () => {
  const args = { slug: 'oak', target: 'main' };
  const result = await repository.step(writeSentinel, { args }, { task: 't-9', node: 'mark' });
  expect(result).toMatchObject({
    outcome: 'succeeded',
    outputs: { slug: 'oak', path: '.holdpoint/tmp/merge-conflicts/oak.json' },
  });
  expect(await sentinelOf('oak')).toMatchObject({
    slug: 'oak',
    source_branch: 'draft/oak',
    target_branch: 'main',
    task: 't-9',
    node: 'mark',
    files: [],
  });
});

test('git status does not show a sentinel', async () => {
  await repository.step(writeSentinel, { args: { slug: 'oak' } });
  expect(await repository.git('status', '--porcelain')).toBe('');
});

test('clearing removes a sentinel, and succeeds without one', async () => {
  await repository.step(writeSentinel, { args: { plan: 'oak' } });
  expect((await repository.step(clearSentinel, { args: { plan: 'oak' } })).outcome).toBe('succeeded');
  expect(await sentinelOf('oak')).toBeUndefined();
  expect((await repository.step(clearSentinel, { args: { plan: 'oak' } })).outcome).toBe('succeeded');
});

test.each([
  [{ args: { slug: 'a', plan: 'b' } }, 'a'],
  [{ context: { slug: 'c', branch: 'draft/d' } }, 'c'],
  [{ args: { branch: 'draft/e' } }, 'e'],
  [{ context: { branch: 'draft/f' } }, 'f'],
  [{}, 't-1'],
])('%j is about the plan %s', async (change, slug) => {
  expect((await repository.step(writeSentinel, change)).outputs).toMatchObject({ slug });
});

test('a slug with slashes and dots stays inside the folder of sentinels', async () => {
  const slug = '../../../escape';
  await repository.step(writeSentinel, { args: { slug, target: 'main' } });
  expect(sentinelPath(slug)).toBe('.holdpoint/tmp/merge-conflicts/..%2F..%2F..%2Fescape.json');
  expect(await sentinelOf(slug)).toMatchObject({ slug });
});

test('long slugs have separate files', () => {
  const [one, other] = [sentinelPath(`${'x'.repeat(255)}1`), sentinelPath(`${'x'.repeat(255)}2`)];
  expect(one).not.toBe(other);
  expect(Buffer.byteLength(one)).toBeLessThan(260);
});

test('a folder that leads out of the repository is refused', async () => {
  await repository.write('.holdpoint/here', '');
  await symlink(repository.outside, join(repository.path, '.holdpoint/tmp'));
  await expect(repository.step(writeSentinel, { args: { slug: 'oak' } })).rejects.toThrow('leads out');
});

test('an invalid sentinel is an error, not a resolved conflict', async () => {
  await repository.write(sentinelPath('oak'), 'not JSON');
  await expect(sentinelOf('oak')).rejects.toThrow('is not a valid merge sentinel');
});
