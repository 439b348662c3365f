import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const SECRET = /hpt_[A-Za-z0-9_-]{43}/;

const token = {
  id: 'k-7h2k9m1x4c',
  name: 'laptop',
  principal: 'ada',
  groups: [],
  scopes: ['approvals:read', 'approvals:decide'],
  status: 'active',
  createdBy: 'ada',
  createdAt: NOW - 1_000,
};
const making = { 'approvals.token_create': token };
const terminal = { columns: 80, ansi: false, colour: false, ask: () => Promise.resolve(undefined) };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tokens-'));
});
afterEach(() => rm(folder, { recursive: true }));

const sentHash = (calls: readonly (readonly [string, unknown])[]): unknown =>
  (calls[0]?.[1] as { sha256?: unknown } | undefined)?.sha256;

describe('token create', () => {
  test('token create sends only the hash of a locally generated secret', async () => {
    const { code, out, calls } = await typeLine(['token', 'create', 'laptop'], making);
    expect(code).toBe(0);
    const secret = out.trimEnd();
    expect(secret).toMatch(new RegExp(`^${SECRET.source}$`));
    expect(calls).toEqual([['approvals.token_create', { name: 'laptop', sha256: sha256Of(secret) }]]);
    expect(JSON.stringify(calls)).not.toMatch(SECRET);
  });

  test('every token gets another secret', async () => {
    const outs = await Promise.all(
      Array.from({ length: 5 }, async () => (await typeLine(['token', 'create', 'laptop'], making)).out),
    );
    expect(new Set(outs).size).toBe(5);
  });

  test('a pipe gets only the secret, standard error the rest', async () => {
    const { out, err } = await typeLine(['token', 'create', 'laptop'], making);
    expect(out).toMatch(new RegExp(`^${SECRET.source}\n$`));
    expect(err).toContain('k-7h2k9m1x4c laptop: token of ada');
    expect(err).not.toMatch(SECRET);
  });

  test('a terminal shows the token once with a warning', async () => {
    const { out } = await typeLine(['token', 'create', 'laptop'], making, { terminal });
    expect(out).toContain('scopes approvals:read, approvals:decide; no expiry');
    expect(out).toMatch(SECRET);
    expect(out).toContain('shown only once');
  });

  test('a token for an agent names the agent', async () => {
    const agents = { 'approvals.token_create': { ...token, agent: 'claude' } };
    const line = ['token', 'create', 'claude', '--agent', 'claude'];
    const { calls, err } = await typeLine(line, agents);
    expect(calls).toMatchObject([['approvals.token_create', { name: 'claude', agent: 'claude' }]]);
    expect(err).toContain('token of the agent claude of ada');
  });

  test('token create sends owner, scopes, groups and lifetime', async () => {
    const line =
      'token create ci --for bot --scope approvals:read --scope audit:read --group bots --expires 30d';
    const { code, calls } = await typeLine(line.split(' '), making);
    expect(code).toBe(0);
    expect(calls).toMatchObject([
      [
        'approvals.token_create',
        {
          name: 'ci',
          principal: 'bot',
          scopes: ['approvals:read', 'audit:read'],
          groups: ['bots'],
          expiresInMs: 30 * 86_400_000,
        },
      ],
    ]);
  });

  test('--claims limits a token to the effects of some capabilities', async () => {
    const claims = ['refund', 'mail'];
    const { out, err, calls } = await typeLine(
      ['token', 'create', 'refunds', '--claims', 'refund,mail'],
      {
        'approvals.token_create': { ...token, scopes: ['effects:claim'], claims },
        'approvals.capability_list': ({ name }: { readonly name: string }) => ({
          items: name === 'refund' ? [{ name }] : [],
        }),
      },
      { terminal },
    );
    expect(calls.at(-1)).toMatchObject(['approvals.token_create', { name: 'refunds', claims }]);
    expect(out).toContain('scopes effects:claim (refund, mail); no expiry');
    expect(err).toContain('mail is not registered yet');
    expect(err).not.toContain('refund is not registered');
  });

  test('--out writes the secret to a private file and prints it nowhere', async () => {
    const line = ['token', 'create', 'laptop', '--out', 'token'];
    const { code, out, err, calls } = await typeLine(line, making, { directory: folder });
    expect(code).toBe(0);
    const file = join(folder, 'token');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(new RegExp(`^${SECRET.source}\n$`));
    expect(sentHash(calls)).toBe(sha256Of(text.trimEnd()));
    expect(out + err).not.toMatch(SECRET);
  });

  test('an existing file prevents the token', async () => {
    const line = ['token', 'create', 'laptop', '--out', 'token'];
    await typeLine(line, making, { directory: folder });
    const { code, err, calls } = await typeLine(line, making, { directory: folder });
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
    expect(err).toContain('token already exists');
  });

  test('a refused token leaves no file', async () => {
    const refused = { 'approvals.token_create': new HoldpointError('APPROVALS_NOT_ENTITLED', 'no') };
    const line = ['token', 'create', 'laptop', '--out', 'token'];
    const { code, out, err } = await typeLine(line, refused, { directory: folder });
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: 'error APPROVALS_NOT_ENTITLED: no\n' });
    expect(await readdir(folder)).toEqual([]);
  });

  test('--json prints the secret, unless --out is used', async () => {
    const { out, calls } = await typeLine(['token', 'create', 'laptop', '--json'], making);
    const answer = JSON.parse(out) as { id: string; secret: string };
    expect(answer.id).toBe(token.id);
    expect(sha256Of(answer.secret)).toBe(sentHash(calls));
    const line = ['token', 'create', 'laptop', '--json', '--out', 'token'];
    expect((await typeLine(line, making, { directory: folder })).out).not.toMatch(SECRET);
  });

  test.each([
    ['--scope', 'approvals:all'],
    ['--expires', 'soon'],
    ['--expires', '10s'],
    ['--expires', '999d'],
    ['--for', 'oidc:ada'],
    ['--for', 'ada,eve'],
    ['--group', ''],
    ['--claims', 'Refund'],
  ])('token create refuses %s %j', async (option, value) => {
    const { code, calls } = await typeLine(['token', 'create', 'laptop', option, value], making);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
  });
});

describe('token list', () => {
  test('token list shows every page with the state of each token', async () => {
    const others = [
      { ...token, id: 'k-bbbbbbbbbb', name: 'ci', status: 'revoked', revokedBy: 'grace' },
      { ...token, id: 'k-cccccccccc', name: 'old', expiresAt: NOW - 1 },
      { ...token, id: 'k-dddddddddd', name: 'new', expiresAt: NOW + 60_000 },
    ];
    const { out, calls } = await typeLine(['token', 'list'], {
      'approvals.token_list': ({ after }: { after?: string }) =>
        after === undefined ? { items: [token], next: '1.k-1' } : { items: others },
    });
    expect(calls).toHaveLength(2);
    expect(out.split('\n').slice(1, 5)).toEqual([
      expect.stringMatching(
        /^k-7h2k9m1x4c +ada +laptop +no expiry +never +approvals:read, approvals:decide$/,
      ),
      expect.stringContaining('revoked by grace'),
      expect.stringContaining('expired 2026-01-15 09:30:59Z'),
      expect.stringContaining('expires 2026-01-15 09:32:00Z'),
    ]);
  });

  test('token list without tokens says so', async () => {
    const { out } = await typeLine(['token', 'list'], { 'approvals.token_list': { items: [] } });
    expect(out).toBe('no tokens\n');
  });
});

test('token revoke prints the revoked token', async () => {
  const { out, calls } = await typeLine(['token', 'revoke', token.id], {
    'approvals.token_revoke': { ...token, status: 'revoked', revokedBy: 'ada' },
  });
  expect(calls).toEqual([['approvals.token_revoke', { id: token.id }]]);
  expect(out).toBe('k-7h2k9m1x4c of ada, called laptop: revoked\n');
});

test('whoami prints user, groups, roles and scopes', async () => {
  const { out } = await typeLine(['whoami'], {
    'approvals.whoami': {
      name: 'ada',
      groups: ['operators', 'qa'],
      roles: ['lead'],
      scopes: ['approvals:read'],
      administrator: true,
    },
  });
  expect(out).toBe(
    [
      'user    ada, an administrator',
      'groups  operators, qa',
      'roles   lead',
      'scopes  approvals:read',
      '',
    ].join('\n'),
  );
});
