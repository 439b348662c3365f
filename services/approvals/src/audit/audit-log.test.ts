import { AuditAnchored, AuditClaims } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { ASKED, desk, verify } from '../../testing/requests.ts';

const given = specFor(desk);
const hash = (digit: string): string => digit.repeat(64);
const anchor = (seq: number, of = 'a') => ({ kind: 'anchor', seq, hash: hash(of) }) as const;
const anchored = (seq: number): AuditAnchored =>
  AuditAnchored.parse({
    type: 'audit_anchored',
    id: AUDIT_ID,
    seq,
    hash: hash('a'),
    statement: 'signed',
    at: ASKED,
  });

describe('an anchor of the audit log', () => {
  test('says, signed, how far it had come', () => {
    const [event] = eventsOf(runOf(desk, [{ message: anchor(7), now: ASKED + 900 }]));
    if (event?.type !== 'audit_anchored') throw new Error('no anchor');
    expect(event).toMatchObject({ id: AUDIT_ID, seq: 7, hash: hash('a'), at: ASKED + 900 });
    expect(AuditClaims.parse(verify(event.statement))).toEqual({
      use: 'audit',
      seq: 7,
      hash: hash('a'),
      iat: Math.floor((ASKED + 900) / 1_000),
    });
  });

  test('is set again once there are lines behind its own', () => {
    given(anchored(7))
      .when(anchor(9, 'b'), ASKED + 1)
      .thenEmitsLike({ seq: 9, hash: hash('b') });
  });

  test.each([
    ['the same place', anchor(7)],
    ['the same place with another hash', anchor(7, 'b')],
    ['an earlier place', anchor(3)],
    ['nothing but the line of the last one', anchor(8, 'b')],
  ])('is not set for %s', (_, message) => {
    given(anchored(7))
      .when(message, ASKED + 1)
      .thenNothing();
  });
});
