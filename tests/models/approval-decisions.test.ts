import { afterAll, expect, test } from 'vitest';
import { type ApprovalWorld, everyQuestion, quorumOfTwo } from './approval-decisions.ts';
import { createTable, holding } from './rows.ts';
import { decidedByRule, standingRule } from './standing-rule.ts';

const { expectRow, print } = createTable('approval decisions, around the deciders of approvals');
afterAll(print);

const endsOf = (worlds: readonly ApprovalWorld[]): readonly string[] =>
  [
    ...new Set(
      worlds.map(({ approval }) =>
        approval.status === 'closed' ? approval.decided.outcome : approval.status,
      ),
    ),
  ].toSorted();

const ENDS = [
  'absent',
  'approved',
  'cancelled',
  'changes_requested',
  'expired',
  'pending',
  'rejected',
  'withdrawn',
];

test('every sequence of messages resolves an approval at most once, with an outcome that fits its question', () => {
  const worlds = expectRow(holding('every question', everyQuestion, 3_122));
  expect(endsOf(worlds)).toEqual([...ENDS, 'answered'].toSorted());
});

test.each([
  { name: 'with a veto', veto: true, worlds: 2_464 },
  { name: 'without a veto', veto: false, worlds: 7_924 },
])('a quorum of two under four eyes counts each approver once, $name', ({ name, veto, worlds }) => {
  expect(endsOf(expectRow(holding(`quorum of two ${name}`, quorumOfTwo(veto), worlds)))).toEqual(ENDS);
});

test('a standing rule that races with two approvers decides once and never beyond its limit', () => {
  const worlds = expectRow(holding('standing rule', standingRule(), 2_074));
  expect(worlds.some(decidedByRule)).toBe(true);
});
