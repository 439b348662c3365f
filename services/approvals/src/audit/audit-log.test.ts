import { AuditAnchored, AuditClaims } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { REQUESTED_AT, audit, verify } from '../../testing/requests.ts';

const given = specFor(audit);
const hash = (digit: string): string => digit.repeat(64);
const anchor = (seq: number, of = 'a') => ({ kind: 'anchor', seq, hash: hash(of) }) as const;
const anchored = (seq: number): AuditAnchored =>
  AuditAnchored.parse({
    type: 'audit_anchored',
    id: AUDIT_ID,
    seq,
    hash: hash('a'),
    statement: 'signed',
    at: REQUESTED_AT,
  });

describe('an anchor of the audit log', () => {
  test('an anchor signs the position of the log', () => {
    const [event] = eventsOf(runOf(audit, [{ message: anchor(7), now: REQUESTED_AT + 900 }]));
    if (event?.type !== 'audit_anchored') throw new Error('no anchor');
    expect(event).toMatchObject({ id: AUDIT_ID, seq: 7, hash: hash('a'), at: REQUESTED_AT + 900 });
    expect(AuditClaims.parse(verify(event.statement))).toEqual({
      use: 'audit',
      seq: 7,
      hash: hash('a'),
      iat: Math.floor((REQUESTED_AT + 900) / 1_000),
    });
  });

  test('another anchor follows once there are lines after the last anchor', () => {
    given(anchored(7))
      .when(anchor(9, 'b'), REQUESTED_AT + 1)
      .thenEmitsLike({ seq: 9, hash: hash('b') });
  });

  test.each([
    ['the same position', anchor(7)],
    ['the same position with another hash', anchor(7, 'b')],
    ['an earlier position', anchor(3)],
    ['only the line of the last anchor', anchor(8, 'b')],
  ])('there is no new anchor for %s', (_, message) => {
    given(anchored(7))
      .when(message, REQUESTED_AT + 1)
      .thenNothing();
  });
});
