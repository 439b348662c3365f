import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { PolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  decider,
  decides,
  effectOf,
  grace,
  linus,
  mallory,
  NODE,
  requestedBy,
  REQUESTED_AT,
  requestFor,
  RULE,
  TASK,
  verify,
} from '../../testing/requests.ts';
import { compileFloor } from '../policy/compile-floor.ts';
import { DEFAULT_FLOOR } from '../policy/default-floor.ts';
import type { ApprovalMessage } from './state.ts';

const given = specFor(decider);
const NOW = REQUESTED_AT + 1;

const requestOf = (
  change: Partial<CanonicalEffect>,
  more: Partial<RequestApproval> = {},
): RequestApproval => {
  const effect = { ...effectOf('hello'), ...change };
  return requestFor('', {
    effect,
    effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
    digest: effectDigest(effect),
    ...more,
  });
};
const DEPLOY = { kind: 'deploy' } as const;
const asks = (
  payload: RequestApproval,
  more: Partial<Extract<ApprovalMessage, { kind: 'request' }>> = {},
): ApprovalMessage => ({ kind: 'request', payload, ...more });
const endsOf = (...messages: readonly ApprovalMessage[]) =>
  eventsOf(
    runOf(
      decider,
      messages.map((message, i) => ({ message, now: REQUESTED_AT + i })),
    ),
  ).filter(({ type }) => type === 'resolved');

describe('a requester of a deploy cannot choose who decides', () => {
  const own = requestOf(DEPLOY, { requestedBy: 'mallory', audience: ['user:mallory'] });

  test('a guest who names themselves as the audience does not approve their own deploy', () => {
    expect(endsOf(asks(own), decides(mallory, 'approve'))).toEqual([]);
    given(requestedBy(own)).when(decides(mallory, 'approve'), NOW).thenAnswersError('APPROVALS_NOT_ENTITLED');
  });

  test('a request that no known person may decide is refused before anybody is notified', () => {
    const [ended] = endsOf(asks(own, { people: [ada, grace, linus, mallory] }));
    expect(ended).toMatchObject({ outcome: 'rejected', by: 'policy', surface: 'policy' });
    expect(ended).toMatchObject({
      comment: expect.stringMatching(/^APPROVALS_FLOOR_AUDIENCE: .*operators/) as string,
    });
    given()
      .when(asks(own, { people: [mallory] }), REQUESTED_AT)
      .thenStarts()
      .thenTimes();
  });

  test('a request that no executor may carry out is refused before anybody is notified', () => {
    const refusal =
      'EXECUTOR_TARGET_NOT_ALLOWED: add https://a.example to HOLDPOINT_HTTP_TARGETS of the executor';
    const allowed = requestOf(DEPLOY);
    expect(endsOf(asks(allowed, { refusal }))).toMatchObject([
      { outcome: 'rejected', by: 'policy', surface: 'policy', comment: refusal },
    ]);
    given().when(asks(allowed, { refusal }), REQUESTED_AT).thenStarts().thenTimes();
  });

  test('a request of an operator for themselves alone needs another operator', () => {
    const asked = requestOf(DEPLOY, { requestedBy: 'linus', audience: ['user:linus', 'user:ada'] });
    given(requestedBy(asked)).when(decides(linus, 'approve'), NOW).thenAnswersError('APPROVALS_FOUR_EYES');
    given(requestedBy(asked)).when(decides(grace, 'approve'), NOW).thenAnswersError('APPROVALS_NOT_ENTITLED');
    expect(endsOf(asks(asked), decides(ada, 'approve'))).toMatchObject([{ outcome: 'approved', by: 'ada' }]);
  });

  test('a request without an audience goes to that of the floor', () => {
    expect(endsOf(asks(requestOf(DEPLOY, { audience: [] })), decides(ada, 'approve'))).toMatchObject([
      { outcome: 'approved' },
    ]);
  });
});

test('no standing rule decides on what the floor keeps for people', () => {
  const floor = compileFloor(PolicyFloor.parse({ floor: [{ name: 'people', rules: false }] }));
  const events = endsOf(asks(requestFor(), { floor }), { kind: 'rule_applies', rule: RULE, author: 'ada' });
  expect(events).toEqual([]);
});

test('the grant names the floor that the request was under', () => {
  const [ended] = endsOf(asks(requestFor()), decides(ada, 'approve'));
  const grant = ended?.type === 'resolved' ? ended.grant : undefined;
  expect(GrantClaims.parse(verify(grant ?? ''))).toMatchObject({ floor: DEFAULT_FLOOR.digest });
});

describe('a requester cannot describe an effect as another', () => {
  const http = {
    uses: 'cap.http.request',
    args: { method: 'POST', url: 'http://127.0.0.1:9/production/deploy', body: { version: 'evil' } },
    effectClass: 'opaque',
  } as const;

  test.each<[string, Partial<CanonicalEffect>]>([
    ['an HTTP request as a notice', { ...http, kind: 'notify', target: 'http://127.0.0.1:9' }],
    ['an HTTP request as one to a chat', { ...http, kind: 'write_external', target: 'notify:team' }],
    ['a file as a notice', { kind: 'notify' }],
    ['a file as another file', { target: 'file:harmless.txt' }],
  ])('%s is refused', (_, change) => {
    given()
      .when(asks(requestOf(change)), REQUESTED_AT)
      .thenRefuses('APPROVALS_EFFECT_MISDESCRIBED');
  });

  test('a requester may raise the kind of an effect', () => {
    given()
      .when(asks(requestOf(DEPLOY)), REQUESTED_AT)
      .thenEmits(requestedBy(requestOf(DEPLOY)));
  });
});
