import { unverifiedName } from '@holdpoint/contracts/values/person';
import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  decider,
  decides,
  grace,
  linus,
  requestedBy,
  REQUESTED_AT,
  requestUnder,
  RULE,
} from '../../testing/requests.ts';
import type { Principal } from './state.ts';

const given = specFor(decider);
const bot: Principal = { ...ada, agent: 'bot' };

/** The ways in which ada asked under another name, and approved her own effect under four eyes. */
const SPELLINGS = ['bob', undefined, 'Ada', 'ada ', 'ada\u200b', '\u0430da', 'user:ada', 'oidc:ada'];

const requestOf = (given: string | undefined, policy: ApprovalPolicy = { fourEyes: true }) =>
  requestUnder(policy, { requestedBy: unverifiedName(given) });
const run = (payload: ReturnType<typeof requestOf>, ...people: readonly Principal[]) =>
  eventsOf(
    runOf(decider, [
      { message: { kind: 'request', payload }, now: REQUESTED_AT },
      ...people.map((by, i) => ({ message: decides(by, 'approve'), now: REQUESTED_AT + 1 + i })),
    ]),
  ).map(({ type }) => type);

describe.each(SPELLINGS)('four eyes on a request of the unverified name %j', (spelling) => {
  test('one person alone cannot approve it', () => {
    expect(run(requestOf(spelling), ada, ada)).toEqual(['requested', 'voted']);
  });

  test('two people approve it', () => {
    expect(run(requestOf(spelling), ada, grace)).toEqual(['requested', 'voted', 'resolved']);
  });

  test('neither an agent nor the owner beside it counts as a second person', () => {
    expect(run(requestOf(spelling), ada, bot)).toEqual(['requested', 'voted', 'decision_refused']);
  });

  test('a standing rule does not approve it', () => {
    given(requestedBy(requestOf(spelling)))
      .when({ kind: 'rule_applies', rule: RULE, author: 'linus' }, REQUESTED_AT + 1)
      .thenEmits();
  });
});

test.each(['Linus', ' linus', 'LINUS '])('the requester %j is linus', (name) => {
  given(requestedBy(requestUnder({ fourEyes: true }, { requestedBy: name })))
    .when(decides(linus, 'approve'), REQUESTED_AT + 1)
    .thenEmitsLike({ type: 'decision_refused' })
    .thenAnswersError('APPROVALS_FOUR_EYES');
});

test('an agent never decides for an unverified requester, under any policy', () => {
  given(requestedBy(requestOf('bob', {})))
    .when(decides(bot, 'approve'), REQUESTED_AT + 1)
    .thenEmitsLike({ type: 'decision_refused' })
    .thenAnswersError('APPROVALS_FOUR_EYES');
});

test('without four eyes one person approves an unverified request', () => {
  expect(run(requestOf('bob', {}), ada)).toEqual(['requested', 'resolved']);
});

test('a quorum above two stays as it is', () => {
  expect(run(requestOf('bob', { fourEyes: true, quorum: 3 }), ada, grace)).toEqual([
    'requested',
    'voted',
    'voted',
  ]);
});
