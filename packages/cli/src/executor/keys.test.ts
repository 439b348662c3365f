import { expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const key = { id: 'x-7h2k9m1x4c', name: 'host-1', key: 'kid', status: 'enrolled', enrolledAt: NOW - 1_000 };

test('executor revoke sends the key and the reason', async () => {
  const revoked = { ...key, status: 'revoked', revokedBy: 'operator', revokedAt: NOW };
  const line = ['executor', 'revoke', 'x-7h2k9m1x4c', '--reason', 'stolen disk'];
  const { code, out, calls } = await typeLine(line, { 'approvals.executor_revoke': revoked });
  expect(code).toBe(0);
  expect(calls).toEqual([['approvals.executor_revoke', { id: 'x-7h2k9m1x4c', reason: 'stolen disk' }]]);
  expect(out).toBe('x-7h2k9m1x4c of host-1: revoked\n');
});
