import { PolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { describe, expect, test } from 'vitest';
import { ada, linus, mallory, requestFor } from '../../testing/requests.ts';
import { applyFloor } from './apply-floor.ts';
import { compileFloor } from './compile-floor.ts';
import { DEFAULT_FLOOR } from './default-floor.ts';
import { impactOf } from './impact.ts';

const PEOPLE = [ada, linus, mallory];
const floorOf = (entry: object) => compileFloor(PolicyFloor.parse({ floor: [{ name: 'new', ...entry }] }));
const viewOf = (change: Partial<ApprovalView> = {}): ApprovalView => {
  const request = applyFloor(requestFor('hello', { requestedBy: 'ada' }), DEFAULT_FLOOR);
  return {
    ...request,
    status: 'approved',
    requestedAt: 1_000,
    expiresAt: 9_000,
    decidedAt: 2_000,
    decidedBy: 'ada',
    ...change,
  };
};
const impactUnder = (entry: object, change?: Partial<ApprovalView>) =>
  impactOf(viewOf(change), floorOf(entry), PEOPLE);

describe('what a floor would have changed', () => {
  test('a floor that demands no more changes nothing', () => {
    expect(impactUnder({ quorum: 1 })).toBeUndefined();
    expect(impactOf(viewOf(), DEFAULT_FLOOR, PEOPLE)).toBeUndefined();
  });

  test.each([
    [{ fourEyes: true }, {}, ['fourEyes'], ['fourEyes']],
    [{ fourEyes: true }, { decidedBy: 'linus' }, ['fourEyes'], []],
    [{ quorum: 2 }, {}, ['quorum'], ['quorum']],
    [{ audience: ['user:ada'] }, {}, ['audience'], []],
    [{ audience: ['user:linus'] }, {}, ['audience'], ['audience']],
    [{ timeoutMsMax: 1_000, rules: false }, { rule: 'u-1' }, ['rules', 'timeout'], ['rules']],
    [{ quorum: 2 }, { status: 'rejected' }, ['quorum'], []],
  ])('%j for %j adds %j and breaks %j', (entry, change, stricter, breaks) => {
    const made = impactUnder(entry, change as Partial<ApprovalView>);
    expect(made).toMatchObject({ entries: ['new'], stricter, weaker: [] });
    expect(made?.breaks).toEqual(breaks);
  });

  test('a demand that the new floor drops is named', () => {
    const under = applyFloor(requestFor(), floorOf({ quorum: 2, audience: ['sre'] }));
    const view: ApprovalView = { ...under, status: 'pending', requestedAt: 1_000, expiresAt: 9_000 };
    expect(impactOf(view, DEFAULT_FLOOR, PEOPLE)).toMatchObject({
      stricter: [],
      weaker: ['audience', 'quorum'],
      breaks: [],
    });
  });
});
