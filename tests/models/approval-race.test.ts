import { afterAll, describe, expect, test } from 'vitest';
import { approvalRace, raceOfTwo, type RaceWorld, realRace } from './approval-race.ts';
import { createTable, holding } from './rows.ts';

const WORLDS_KNOWN = 2_440;
const WORLDS_OF_TWO_KNOWN = 5_104;
const { expectRow, print } = createTable('approval race, around the deciders of approvals and executor');
afterAll(print);

const outcomeOf = ({ approval }: RaceWorld): string => {
  if (approval.status === 'closed') return approval.decided.outcome;
  return approval.status;
};

describe('the race for an approval', () => {
  test('the approval race holds for one approver', () => {
    const worlds = expectRow(holding('as it stands', approvalRace(realRace), WORLDS_KNOWN));
    expect([...new Set(worlds.map(outcomeOf))].sort()).toEqual([
      'absent',
      'approved',
      'cancelled',
      'expired',
      'pending',
      'rejected',
      'withdrawn',
    ]);
    expect([...new Set(worlds.map(({ effect }) => effect.status))].sort()).toEqual([
      'absent',
      'cancelled',
      'prepared',
      'refused',
      'started',
    ]);
    // Not promised: a withdrawal after the claim is too late, and its sender learns that.
    const tooLate = worlds.filter(({ effect, cancelStored }) => cancelStored && effect.status === 'started');
    expect(tooLate.length).toBeGreaterThan(0);
  });

  test('a quorum of two gives no grant without both approvers', () => {
    const worlds = expectRow(holding('takes both', approvalRace(raceOfTwo), WORLDS_OF_TWO_KNOWN));
    const granted = worlds.filter((world) => outcomeOf(world) === 'approved');
    expect(granted.length).toBeGreaterThan(0);
    expect(new Set(granted.flatMap(({ approvers }) => approvers))).toEqual(new Set(['ada', 'grace']));
    expect(
      worlds.some(({ approvers, approval }) => approvers.length === 1 && approval.status === 'pending'),
    ).toBe(true);
  });
});
