import { afterAll, test } from 'vitest';
import { approvalRace, type Race, type RaceWorld } from './approval-race.ts';
import * as mutants from './approval-race-mutants.ts';
import { caught, createTable, type Row } from './rows.ts';

const mutant = (name: string, race: Race, verdict: string): Row<RaceWorld> =>
  caught(name, approvalRace(race), verdict);

const LATE = 'decided after its expiry';
const TWICE = 'resolved twice';
const NOT_APPROVED = 'started without a valid approval';

const MUTANTS: readonly Row<RaceWorld>[] = [
  mutant('clock read before the lock', mutants.clockBeforeLock, LATE),
  mutant('expiry not compared with the clock', mutants.expiryNotCompared, LATE),
  mutant('early timer closes', mutants.earlyTimerCloses, 'expired before its time'),
  mutant('second decision overwrites', mutants.secondDecisionOverwrites, TWICE),
  mutant('timer closes what is decided', mutants.timerClosesWhatIsDecided, TWICE),
  mutant('withdrawal overwrites a decision', mutants.withdrawalOverwrites, TWICE),
  mutant('withdrawal before the request forgotten', mutants.withdrawalBeforeRequestForgotten, TWICE),
  mutant('told what was asked for', mutants.answersWhatWasAsked, 'got an answer that does not count'),
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

const { expectRow, print } = createTable('mutants of the approval race');
afterAll(print);

test.each(MUTANTS)('the approval race finds the $name', (row) => {
  expectRow(row);
});
