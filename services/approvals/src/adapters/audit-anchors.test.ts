import { expect, test } from 'vitest';
import type { AuditHead } from '../queries/audit.ts';
import { isDue } from './audit-anchors.ts';

const MINUTE_MS = 60_000;
const NOW = 1_768_000_000_000;
/** Lines after the last anchor's line, and the age of that anchor. */
const head = (lines: number, ageMs: number): AuditHead => ({
  seq: 100 + lines,
  hash: '',
  now: NOW,
  anchor: { line: 100, at: NOW - ageMs, seq: 98, hash: '' },
});

test.each<[string, AuditHead, boolean, boolean]>([
  ['without lines', { seq: 0, hash: '', now: NOW, anchor: undefined }, true, false],
  ['that was never anchored', { seq: 1, hash: '', now: NOW, anchor: undefined }, false, true],
  ['to which nothing was added, for a day', head(0, 1_440 * MINUTE_MS), false, false],
  ['to which nothing was added, at the start', head(0, MINUTE_MS), true, false],
  ['to which a line was added, at the start', head(1, MINUTE_MS), true, true],
  ['to which a line was added a moment after the last anchor', head(1, MINUTE_MS), false, false],
  ['to which a line was added, and five minutes are over', head(1, 5 * MINUTE_MS), false, true],
  ['to which 999 lines were added', head(999, MINUTE_MS), false, false],
  ['to which 1,000 lines were added', head(1_000, MINUTE_MS), false, true],
])('an anchor is due as expected for a log %s', (_, state, atStart, due) => {
  expect(isDue(state, atStart)).toBe(due);
});
