import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { AuditReport } from '@holdpoint/contracts/audit/verify';
import { describe, expect, test } from 'vitest';
import { markOf } from './mark.ts';
import type { Verified } from './verify-log.ts';

const line = (seq: number, aggregate = 'a-1', hash = `hash ${String(seq)}`): AuditLine => ({
  seq,
  at: 0,
  aggregate,
  version: 1,
  type: 'requested',
  eventSha256: '',
  entry: '{}',
  previous: '',
  hash,
});
const sound: AuditReport = {
  lines: 10,
  head: { seq: 10, hash: 'hash 10' },
  anchoredTo: 5,
  anchors: 1,
  problems: [],
  problemCount: 0,
};
const verified = (report: Partial<AuditReport> = {}): Verified => ({
  report: { ...sound, ...report },
  about: new Set(['a-1']),
  hashes: new Map([3, 4, 7].map((seq) => [seq, `hash ${String(seq)}`])),
});
const fault = (seq: number) => ({ seq, fault: 'rewritten', text: '' }) as const;

describe('a line of the audit log', () => {
  test.each<readonly [string, AuditLine, Verified | undefined, string]>([
    ['before anybody has looked', line(3), undefined, 'not verified yet'],
    ['up to an anchor', line(3), verified(), '✓ verified, signed'],
    ['behind the last anchor', line(7), verified(), '✓ verified'],
    ['that has come since', line(11), verified(), 'not verified yet'],
    ['of a request that was not known then', line(6, 'a-2'), verified(), 'not verified yet'],
    ['that the log does not have', line(6), verified(), 'does not hold'],
    ['that the log has otherwise', line(3, 'a-1', 'another'), verified(), 'does not hold'],
    [
      'at which a fault was found',
      line(3),
      verified({ problems: [fault(3)], problemCount: 1 }),
      'does not hold',
    ],
    ['beside a fault', line(3), verified({ problems: [fault(4)], problemCount: 1 }), 'in a broken log'],
  ])('%s', (_, shown, looked, mark) => {
    expect(markOf(shown, looked)[0]).toBe(mark);
  });
});
