import { sha256Of } from '@holdpoint/contracts/values/json';
import { expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const answers = {
  'approvals.token_create': { id: 'k-7h2k9m1x4c', signIn: 'code', expiresAt: NOW + 300_000 },
};
const line = ['console', '--url', 'https://holdpoint.example/here/'];

test('console prints a link with a code in its fragment, and sends only the hash of the code', async () => {
  const { code, out, calls } = await typeLine(line, answers);
  expect(code).toBe(0);
  const link = new URL(out.trimEnd());
  expect(link.origin + link.pathname + link.search).toBe('https://holdpoint.example/here/');
  const [, secret = ''] = /^#\/sign-in\/(hpc_[\w-]{43})$/.exec(link.hash) ?? [];
  expect(calls).toEqual([
    ['approvals.token_create', { name: 'console sign-in', sha256: sha256Of(secret), signIn: true }],
  ]);
});

test('every link has another code', async () => {
  const outs = await Promise.all(Array.from({ length: 5 }, async () => (await typeLine(line, answers)).out));
  expect(new Set(outs).size).toBe(5);
});

test('console without an address names the option, before a code exists', async () => {
  const { code, err, calls } = await typeLine(['console'], answers);
  expect({ code, calls }).toEqual({ code: 2, calls: [] });
  expect(err).toContain('--url is missing');
});

test.each(['holdpoint.example', 'ftp://holdpoint.example/', ''])(
  'console refuses the address %j',
  async (url) => {
    const { code, calls } = await typeLine(['console', '--url', url], answers);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
  },
);
