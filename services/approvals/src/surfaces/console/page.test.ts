import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pageRoutes } from './page-routes.ts';
import { createPage } from './page.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-page-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a page is served once it is built', async () => {
  let now = 0;
  const dist = join(folder, 'dist');
  const app = pageRoutes(createPage(dist, () => now));
  const missing = await app.request('/');
  expect([missing.status, missing.headers.get('cache-control')]).toEqual([503, 'no-store']);
  expect(await missing.text()).toContain('The console is not built');
  await mkdir(dist);
  await writeFile(join(dist, 'index.html'), 'here');
  now += 1_000;
  expect(await (await app.request('/')).text()).toBe('here');
});

test('only files in the folder are served, without source maps and symbolic links', async () => {
  await writeFile(join(folder, 'secret.json'), '{}');
  const dist = join(folder, 'dist');
  await mkdir(join(dist, 'assets'), { recursive: true });
  await writeFile(join(dist, 'index.html'), 'here');
  await writeFile(join(dist, 'assets', 'a-1.js.map'), '{}');
  await symlink(join(folder, 'secret.json'), join(dist, 'linked.json'));
  const page = createPage(dist);
  for (const path of [
    '/../secret.json',
    '/linked.json',
    '/assets/a-1.js.map',
    '/assets',
    '/__proto__',
    '//index.html',
  ])
    expect([path, await page.find(path)]).toEqual([path, undefined]);
});

test('a browser without compression receives the plain file, which it may cache', async () => {
  const text = 'x'.repeat(2_000);
  await writeFile(join(folder, 'index.html'), text);
  const app = pageRoutes(createPage(folder));
  const answer = await app.request('/');
  expect([answer.headers.get('content-encoding'), await answer.text()]).toEqual([null, text]);
  const headers = { 'if-none-match': answer.headers.get('etag') ?? '' };
  expect((await app.request('/', { headers })).status).toBe(304);
});
