import { describe, expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const key = { id: 'x-7h2k9m1x4c', name: 'host-1', key: 'kid', status: 'enrolled', enrolledAt: NOW - 1_000 };

describe('executor keys', () => {
  test('executor keys lists every key with its state', async () => {
    const items = [key, { ...key, id: 'x-7h2k9m1x4d', status: 'revoked', revokedBy: 'ada', revokedAt: NOW }];
    const { code, out } = await typeLine(['executor', 'keys'], { 'approvals.executor_list': { items } });
    expect(code).toBe(0);
    expect(out).toContain('x-7h2k9m1x4c  host-1  enrolled');
    expect(out).toContain('x-7h2k9m1x4d  host-1  revoked by ada');
  });

  test('executor revoke sends the key and the reason', async () => {
    const revoked = { ...key, status: 'revoked', revokedBy: 'operator', revokedAt: NOW };
    const line = ['executor', 'revoke', 'x-7h2k9m1x4c', '--reason', 'stolen disk'];
    const { code, out, calls } = await typeLine(line, { 'approvals.executor_revoke': revoked });
    expect(code).toBe(0);
    expect(calls).toEqual([['approvals.executor_revoke', { id: 'x-7h2k9m1x4c', reason: 'stolen disk' }]]);
    expect(out).toBe('x-7h2k9m1x4c of host-1: revoked\n');
  });
});
