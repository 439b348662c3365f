import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { afterAll, test } from 'vitest';
import { type EffectDecider, effectLedger, type LedgerWorld } from './effect-ledger.ts';
import * as mutants from './effect-ledger-mutants.ts';
import { caught, createTable, type Row } from './rows.ts';

const STARTS_MAX = 2;
const modelOf = (effectClass: EffectClass, decider: EffectDecider) =>
  effectLedger({ effectClass, decider, startsMax: STARTS_MAX });

const TWICE = 'applied twice';
const NOT_SO = 'recorded as not applied, and is';
const CANCELLED = 'started after its cancellation was stored';
const WITHOUT = 'started without a grant for it';
const mutant = (
  name: string,
  effectClass: EffectClass,
  decider: EffectDecider,
  verdict: string,
): Row<LedgerWorld> => caught(`${effectClass}, ${name}`, modelOf(effectClass, decider), verdict);

const MUTANTS: readonly Row<LedgerWorld>[] = [
  mutant('lease over: ordered again', 'opaque', mutants.leaseOverOrdersAgain, TWICE),
  mutant('repeated, though a person is to be asked', 'opaque', mutants.repeatsWhatIsForAPerson, TWICE),
  mutant('claimed, though it has started', 'opaque', mutants.claimsWhatHasStarted, TWICE),
  mutant('outcome of any epoch counts', 'keyed', mutants.outcomeOfAnyEpoch, NOT_SO),
  mutant('doubt of the first start forgotten', 'keyed', mutants.doubtForgotten, NOT_SO),
  mutant('late failure resolves a doubt', 'keyed', mutants.lateFailureResolvesDoubt, NOT_SO),
  mutant('epoch not raised at doubt', 'opaque', mutants.epochNotRaisedAtDoubt, 'certain success ignored'),
  mutant('digest of the grant not compared', 'opaque', mutants.digestNotCompared, WITHOUT),
  mutant('signature of the grant not checked', 'opaque', mutants.signatureNotChecked, WITHOUT),
  mutant(
    'end of the grant not compared',
    'opaque',
    mutants.grantEndNotCompared,
    'started after its grant had ended',
  ),
  mutant('calling off forgotten', 'keyed', mutants.callingOffForgotten, CANCELLED),
  mutant('called off, failed, tried anew', 'opaque', mutants.calledOffTriedAnew, CANCELLED),
  mutant('a probe that proves nothing is believed', 'probeable', mutants.probeNotProvenBelieved, NOT_SO),
  mutant('a lost start is forgotten with the next', 'probeable', mutants.lostStartsForgotten, NOT_SO),
  mutant('a probe counts for any doubt', 'probeable', mutants.probeOfAnyDoubt, NOT_SO),
  mutant('a statement counts for any doubt', 'opaque', mutants.statementOnAnyDoubt, CANCELLED),
  mutant('calling off in doubt forgotten', 'opaque', mutants.cancelledInDoubtForgotten, CANCELLED),
  mutant('a repeated order is not answered', 'keyed', mutants.repeatedOrderNotAnswered, 'order not answered'),
  mutant(
    'a late cancellation is not answered',
    'keyed',
    mutants.lateCancellationNotAnswered,
    'cancellation not answered',
  ),
  mutant('cancellation forgotten', 'opaque', mutants.cancellationForgotten, CANCELLED),
];

const { expectRow, print } = createTable('mutants of the effect ledger');
afterAll(print);

test.each(MUTANTS)('the ledger model finds the $name', (row) => {
  expectRow(row);
});
