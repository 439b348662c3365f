import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AUDIT_ROOT, type AuditEntry, auditHash } from './audit.ts';
import { sha256Of } from '../values/json.ts';

type Line = Omit<AuditEntry, 'hash'>;

const line: Line = {
  seq: 1,
  at: 1_768_469_400_000,
  aggregate: 'a-f6xr3exja7',
  version: 3,
  type: 'resolved',
  eventSha256: 'b'.repeat(64),
  entry: '{"by": "ada"}',
  previous: AUDIT_ROOT,
};

const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
const word = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const lines: fc.Arbitrary<Line> = fc.record({
  seq: fc.integer({ min: 1 }),
  at: fc.integer({ min: 0 }),
  aggregate: word,
  version: fc.integer({ min: 0 }),
  type: word,
  eventSha256: hex,
  // `entry` is JSON and may contain anything. As the last field, its line ends cannot forge another
  // line.
  entry: fc.string({ unit: 'binary' }),
  previous: hex,
});

test('the hash covers every field of a line and the previous hash, in this order', () => {
  const text = `${AUDIT_ROOT}\n1\n1768469400000\na-f6xr3exja7\n3\nresolved\n${'b'.repeat(64)}\n{"by": "ada"}`;
  expect(auditHash(line)).toBe(sha256Of(text));
  expect(auditHash(line)).toBe('740af7abf135e0c76791fe83288def878f15312ae5597479556905b4f7f638e1');
});

test('any change of any field changes the hash', () => {
  fc.assert(
    fc.property(lines, lines, (one, other) => {
      for (const field of Object.keys(one) as (keyof Line)[]) {
        const changed = { ...one, [field]: other[field] };
        expect(auditHash(changed) === auditHash(one)).toBe(other[field] === one[field]);
      }
    }),
  );
});

test('different lines have different hashes, however their parts are cut', () => {
  fc.assert(
    fc.property(lines, lines, (one, other) => {
      const same = (Object.keys(one) as (keyof Line)[]).every((field) => one[field] === other[field]);
      expect(auditHash(one) === auditHash(other)).toBe(same);
    }),
  );
  expect(auditHash({ ...line, aggregate: 'a-1', version: 23 })).not.toBe(
    auditHash({ ...line, aggregate: 'a-12', version: 3 }),
  );
  expect(auditHash({ ...line, entry: '' })).not.toBe(auditHash({ ...line, entry: '\n' }));
});
