import { describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const rule = {
  id: 'u-4c7x2m9k1d',
  name: 'chat of the build',
  match: {
    kinds: ['notify'],
    capability: 'cap.notify.slack',
    target: 'notify:*',
    arguments: { 'body.channel': 'C0*' },
  },
  usesMax: 5,
  status: 'active',
  author: 'ada',
  addedAt: 1_764_000_000_000,
  expiresAt: 1_764_000_030_000,
  uses: 2,
};

describe('standing rules', () => {
  test('rule list shows match, uses and expiry', async () => {
    const { out, calls } = await typeLine(['rule', 'list', '--status', 'active'], {
      'approvals.rule_list': { items: [rule], next: 'later' },
    });
    expect(calls).toEqual([['approvals.rule_list', { status: 'active' }]]);
    expect(out).toContain('used 2 of 5 times, until 2025-11-24 16:00:30Z');
    expect(out).toContain('notify, cap.notify.slack on notify:*, body.channel=C0*');
    expect(out).toContain('more: --after later');
  });

  test('rule list without rules says so', async () => {
    const { out } = await typeLine(['rule', 'list'], { 'approvals.rule_list': { items: [] } });
    expect(out).toBe('no standing rules\n');
  });

  test('rule add sends every option', async () => {
    const line = [
      'rules',
      'add',
      'chat',
      '--kind',
      'notify',
      '--capability',
      'cap.notify.*',
      '--arg',
      'body.channel=C0*',
      '--expires',
      '30d',
    ];
    const { out, calls } = await typeLine([...line, '--uses', '5'], { 'approvals.rule_add': rule });
    const match = { kinds: ['notify'], capability: 'cap.notify.*', arguments: { 'body.channel': 'C0*' } };
    expect(calls).toEqual([
      ['approvals.rule_add', { name: 'chat', match, expiresInMs: 2_592_000_000, usesMax: 5 }],
    ]);
    expect(out).toContain('approves  notify, cap.notify.slack on notify:*, body.channel=C0*');
  });

  test.each([
    [['rule', 'add', 'x'], 'capability: missing'],
    [['rule', 'add', 'x', '--capability', 'cap.*', '--last', '5'], '--last needs --dry-run'],
    [['rule', 'add', 'x', '--kind', 'notify', '--target', 'notify:*'], 'capability: missing'],
    [['rule', 'add', 'x', '--kind', 'deploy'], 'a person looks at those'],
    [['rule', 'add', 'x', '--kind', 'nonsense'], 'one of write_external'],
    [['rule', 'add', 'x', '--kind', 'notify', '--expires', 'soon'], 'a time such as 90s'],
    [['rule', 'add', 'x', '--kind', 'notify', '--arg', 'nowhere'], 'path=pattern'],
  ])('an invalid rule is refused before any request: %j', async (line, problem) => {
    const { code, err, calls } = await typeLine(line, {});
    expect(code).not.toBe(0);
    expect(err).toContain(problem);
    expect(calls).toEqual([]);
  });

  test('rule add --dry-run adds nothing and prints the requests that the rule would have approved', async () => {
    const found = {
      id: 'a-1',
      title: 'tell the team',
      status: 'approved',
      decidedBy: 'ada',
      requestedAt: 1_764_000_000_000,
    };
    const { out, calls } = await typeLine(
      [...'rule add x --dry-run --last 10 --capability'.split(' '), 'cap.http.*'],
      {
        'approvals.rule_test': { examined: 10, items: [found] },
      },
    );
    expect(calls).toEqual([['approvals.rule_test', { match: { capability: 'cap.http.*' }, last: 10 }]]);
    expect(out).toContain('would have approved 1 of the latest 10 requests');
    expect(out).toContain('approved by ada');
  });

  test('rule revoke ends a rule', async () => {
    const { out, calls } = await typeLine(['rule', 'revoke', rule.id, '--reason', 'over'], {
      'approvals.rule_revoke': { ...rule, status: 'revoked', revokedBy: 'ada' },
    });
    expect(calls).toEqual([['approvals.rule_revoke', { id: rule.id, reason: 'over' }]]);
    expect(out).toBe(`${rule.id} is revoked by ada\n`);
  });
});
