import { afterAll, describe, expect, test } from 'vitest';
import { approvalRace, type Race, raceOfTwo, type RaceWorld, realRace } from './approval-race.ts';
import * as mutants from './approval-race-mutants.ts';
import { caught, createTable, holding, type Row } from './rows.ts';

const mutant = (name: string, race: Race, verdict: string): Row<RaceWorld> =>
  caught(name, approvalRace(race), verdict);

const LATE = 'decided after its expiry';
const TWICE = 'resolved twice';
const NOT_APPROVED = 'started without a standing approval of it';

const MUTANTS: readonly Row<RaceWorld>[] = [
  mutant('clock read before the lock', mutants.clockBeforeLock, LATE),
  mutant('expiry not compared with the clock', mutants.expiryNotCompared, LATE),
  mutant('early timer closes', mutants.earlyTimerCloses, 'expired before its time'),
  mutant('second decision overwrites', mutants.secondDecisionOverwrites, TWICE),
  mutant('timer closes what is decided', mutants.timerClosesWhatIsDecided, TWICE),
  mutant('withdrawal overwrites a decision', mutants.withdrawalOverwrites, TWICE),
  mutant('withdrawal before the request forgotten', mutants.withdrawalBeforeRequestForgotten, TWICE),
  mutant('told what was asked for', mutants.answersWhatWasAsked, 'told what does not stand'),
  mutant('grant for another digest', mutants.grantForAnotherDigest, NOT_APPROVED),
  mutant('digest of the grant not compared', mutants.digestNotCompared, NOT_APPROVED),
  mutant('end of the grant not compared', mutants.grantEndNotCompared, 'started after its grant had ended'),
  mutant(
    'cancellation forgotten',
    mutants.cancellationForgotten,
    'started after its cancellation was stored',
  ),
  mutant(
    'votes counted, and not people',
    mutants.votesCountedNotPeople,
    'granted by fewer people than its quorum',
  ),
];

const WORLDS_KNOWN = 2_440;
const WORLDS_OF_TWO_KNOWN = 5_104;
const { expectRow, print } = createTable('approval race, around the deciders of approvals and executor');
afterAll(print);

const outcomeOf = ({ approval }: RaceWorld): string => {
  if (approval.status === 'closed') return approval.decided.outcome;
  return approval.status;
};

describe('the race for an approval', () => {
  test('as it stands', () => {
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
    // What is not promised: who withdraws after the claim is too late, and must be told so.
    const tooLate = worlds.filter(({ effect, cancelStored }) => cancelStored && effect.status === 'started');
    expect(tooLate.length).toBeGreaterThan(0);
  });

  test('where it takes both of them, there is no grant without both', () => {
    const worlds = expectRow(holding('takes both', approvalRace(raceOfTwo), WORLDS_OF_TWO_KNOWN));
    const granted = worlds.filter((world) => outcomeOf(world) === 'approved');
    expect(granted.length).toBeGreaterThan(0);
    expect(new Set(granted.flatMap(({ approvers }) => approvers))).toEqual(new Set(['ada', 'grace']));
    expect(
      worlds.some(({ approvers, approval }) => approvers.length === 1 && approval.status === 'pending'),
    ).toBe(true);
  });

  test.each(MUTANTS)('$name', (row) => {
    expectRow(row);
  });
});
