import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const ada = {
  name: 'ada',
  groups: ['release'],
  status: 'active',
  source: 'store',
  administrator: false,
  addedBy: 'root',
  addedAt: NOW,
};
const token = {
  id: 'k-7h2k9m1x4c',
  name: 'first token of ada',
  principal: 'ada',
  groups: [],
  scopes: ['approvals:read', 'approvals:decide'],
  status: 'active',
  createdBy: 'root',
  createdAt: NOW,
};
const adding = { 'approvals.person_add': ada, 'approvals.token_create': token };
const SECRET = /hpt_[A-Za-z0-9_-]{43}/;

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'people-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

describe('people add', () => {
  test('a person is added with a first token, whose hash alone is sent', async () => {
    const line = 'people add Ada --group release --display-name Ada --scope approvals:read --expires 30d';
    const { code, out, calls } = await typeLine(line.split(' '), adding);
    expect(code).toBe(0);
    const secret = out.trimEnd();
    expect(secret).toMatch(new RegExp(`^${SECRET.source}$`));
    expect(calls).toEqual([
      ['approvals.person_add', { name: 'ada', groups: ['release'], displayName: 'Ada' }],
      [
        'approvals.token_create',
        {
          name: 'first token of ada',
          sha256: sha256Of(secret),
          principal: 'ada',
          scopes: ['approvals:read'],
          expiresInMs: 30 * 86_400_000,
        },
      ],
    ]);
  });

  test('--no-token adds the person alone', async () => {
    const { out, calls } = await typeLine(['people', 'add', 'ada', '--no-token'], adding);
    expect(calls.map(([name]) => name)).toEqual(['approvals.person_add']);
    expect(out).toBe('ada: groups release\n');
  });

  test('a refused person gets no token and leaves no file', async () => {
    const directory = await newFolder();
    const refused = {
      'approvals.person_add': new HoldpointError('APPROVALS_PERSON_CONFLICT', 'ada exists already'),
    };
    const { code, err } = await typeLine(['people', 'add', 'ada', '--out', 't'], refused, { directory });
    expect({ code, err }).toEqual({ code: 1, err: 'error APPROVALS_PERSON_CONFLICT: ada exists already\n' });
    expect(await readdir(directory)).toEqual([]);
  });

  test('--out writes the secret to a file and prints it nowhere', async () => {
    const directory = await newFolder();
    const { out, err } = await typeLine(['people', 'add', 'ada', '--out', 't'], adding, { directory });
    expect(await readFile(join(directory, 't'), 'utf8')).toMatch(SECRET);
    expect(out + err).not.toMatch(SECRET);
  });

  test.each([
    ['ada,eve'],
    ['аda'],
    ['ada', '--group', 'user:eve'],
    ['ada', '--group', 'a,b'],
    ['ada', '--group', 'a\u200bb'],
    ['ada', '--no-token', '--expires', '30d'],
  ])('people add refuses %j', async (...words) => {
    const { code, calls } = await typeLine(['people', 'add', ...words], adding);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
  });
});

test('people list shows each person with their valid tokens, and never a hash', async () => {
  const removed = { ...ada, name: 'eve', status: 'removed', removedBy: 'root', removedAt: NOW };
  const answers = {
    'approvals.person_list': { items: [ada, removed] },
    'approvals.token_list': {
      items: [
        { ...token, usedAt: NOW },
        { ...token, id: 'k-0000000000', status: 'revoked' },
      ],
    },
  };
  const { out } = await typeLine(['people', 'list'], answers);
  expect(out.split('\n').map((line) => line.replace(/ {2,}/g, '  '))).toEqual([
    'Name  Groups  Administrator  State',
    'ada  release  no  active',
    '  k-7h2k9m1x4c  first token of ada: approvals:read, approvals:decide; last used 2026-01-15 09:31:00Z; no expiry',
    '',
  ]);
  expect((await typeLine(['people', 'list', '--all'], answers)).out).toContain('removed by root');
});

test('people change replaces the groups, or takes the person out of all of them', async () => {
  const answers = { 'approvals.person_change': ada };
  const { calls } = await typeLine(['people', 'change', 'ada', '--group', 'a', '--group', 'b'], answers);
  expect(calls).toEqual([['approvals.person_change', { name: 'ada', groups: ['a', 'b'] }]]);
  const none = await typeLine(['people', 'change', 'ada', '--no-groups'], answers);
  expect(none.calls).toEqual([['approvals.person_change', { name: 'ada', groups: [] }]]);
  expect((await typeLine(['people', 'change', 'ada'], answers)).code).toBe(2);
});

test('people remove says that tokens and rules are revoked', async () => {
  const { out, calls } = await typeLine(['people', 'remove', 'ada'], { 'approvals.person_remove': ada });
  expect(calls).toEqual([['approvals.person_remove', { name: 'ada' }]]);
  expect(out).toBe('ada is removed; their tokens and rules are revoked\n');
});
