import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { AuditReport } from '@holdpoint/contracts/audit/verify';
import { describe, expect, test } from 'vitest';
import { markOf } from './mark.ts';
import type { Verification } from './verify-log.ts';

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
const verified = (report: Partial<AuditReport> = {}): Verification => ({
  report: { ...sound, ...report },
  about: new Set(['a-1']),
  hashes: new Map([3, 4, 7].map((seq) => [seq, `hash ${String(seq)}`])),
});
const fault = (seq: number) => ({ seq, fault: 'rewritten', text: '' }) as const;

describe('the badge of an audit line', () => {
  test.each<readonly [string, AuditLine, Verification | undefined, string]>([
    ['a line before the verification', line(3), undefined, 'not verified yet'],
    ['a line before an anchor', line(3), verified(), '✓ verified, signed'],
    ['a line after the last anchor', line(7), verified(), '✓ verified'],
    ['a line that arrived later', line(11), verified(), 'not verified yet'],
    ['a line of a request that was unknown then', line(6, 'a-2'), verified(), 'not verified yet'],
    ['a line missing from the log', line(6), verified(), 'verification failed'],
    ['a line that differs from the log', line(3, 'a-1', 'another'), verified(), 'verification failed'],
    [
      'a line with a problem',
      line(3),
      verified({ problems: [fault(3)], problemCount: 1 }),
      'verification failed',
    ],
    ['beside a fault', line(3), verified({ problems: [fault(4)], problemCount: 1 }), 'in a damaged log'],
  ])('the badge is correct for %s', (_, shown, looked, mark) => {
    expect(markOf(shown, looked)[0]).toBe(mark);
  });
});
