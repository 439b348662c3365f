import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Decider } from '@holdpoint/runtime/decider';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { namesOf } from '@holdpoint/contracts/workflow/audience';
import { events } from '@holdpoint/contracts/catalog/events';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { type Act, eventsOf, runOf, type Step } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  anchorActs,
  approvalActs,
  PEOPLE,
  peopleActs,
  ruleActs,
  tokenActs,
} from '../testing/aggregate-messages.ts';
import { audit, rollbackFor, rules, withSurfaces, verify } from '../testing/requests.ts';
import { createCallbackDecider } from './callback/callback.ts';
import { capabilityDecider } from './capability/capability.ts';
import { enrolmentDecider } from './executor/enrolment.ts';
import type { ApprovalMessage, ApprovalState, ApprovalWork, Pending } from './approval/state.ts';
import { peopleDecider } from './people/people.ts';
import { tokenDecider } from './token/access-token.ts';
import { ROLLBACK_RULE } from './rule/rollback-rule.ts';

type Run = readonly Step<ApprovalState, ApprovalMessage, ApprovalEvent, ApprovalWork>[];

const requestIn = (run: Run) => eventsOf(run).find((event) => event.type === 'requested');
const resolutionIn = (run: Run) => eventsOf(run).find((event) => event.type === 'resolved');

/** The decisions that were taken while it waited, by whom, in their order: counted here by hand. */
const taken = (run: Run): readonly { readonly by: string; readonly verb: Verb; readonly now: number }[] =>
  run.flatMap(({ message, made, before, now }) => {
    if (message.kind !== 'decide' || before.status !== 'pending') return [];
    const isTaken = made.answer !== undefined && 'ok' in made.answer;
    return isTaken ? [{ by: message.by.name, verb: message.payload.decision as Verb, now }] : [];
  });

/** A property of every run of one approval under any policy. */
const always = (check: (run: Run) => void): void =>
  fc.assert(
    fc.property(approvalActs, (acts) => check(runOf(withSurfaces, acts))),
    { numRuns: 500 },
  );

/** Checks every law and every event of one kind of aggregate. */
const checkKind = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  arbitrary: fc.Arbitrary<readonly Act<Message>[]>,
): void =>
  fc.assert(
    fc.property(arbitrary, (acts) => {
      const run = holdsEveryLaw(decider, acts);
      for (const event of eventsOf(run)) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(events.approvals.parse(sent)).toEqual(sent);
      }
    }),
    { numRuns: 500 },
  );

test('approvals satisfy the laws of a decider, and their events the contract', () =>
  checkKind(withSurfaces, approvalActs));
test('standing rules satisfy the laws of a decider, and their events the contract', () =>
  checkKind(rules, ruleActs));
test('access tokens satisfy the laws of a decider, and their events the contract', () =>
  checkKind(tokenDecider, tokenActs));
test('people satisfy the laws of a decider, and their events the contract', () =>
  checkKind(peopleDecider, peopleActs));
test('the audit log satisfies the laws of a decider, and its events the contract', () =>
  checkKind(audit, anchorActs));

test.each([
  ['capability', capabilityDecider, 'capability_registered'],
  ['executor key', enrolmentDecider, 'executor_enrolled'],
  ['callback', createCallbackDecider(), 'callback_ordered'],
])('an event of another release is no event of a %s', (_, kind, type) => {
  const decider = kind as Decider<unknown, never, { readonly type: string }>;
  const created = decider.evolve(decider.initial, { type });
  const unknown = { type: 'of_another_release' };
  expect(() => decider.evolve(created, unknown)).toThrow('unknown event: of_another_release');
});

test('the generated runs cover every outcome of an approval', () => {
  const ends = new Set<string>();
  const types = new Set<string>();
  let votes = 0;
  for (const acts of fc.sample(approvalActs, { numRuns: 3_000, seed: 6 })) {
    const run = runOf(withSurfaces, acts);
    for (const event of eventsOf(run)) types.add(event.type);
    const resolved = resolutionIn(run);
    if (resolved === undefined) continue;
    ends.add(
      resolved.rule === undefined
        ? resolved.outcome
        : resolved.rule === ROLLBACK_RULE
          ? 'by the rule that is built in'
          : 'by rule',
    );
    votes = Math.max(votes, resolved.outcome === 'approved' ? (resolved.votes?.length ?? 1) : 0);
  }
  expect([...ends].toSorted()).toEqual(
    [
      'answered',
      'approved',
      'by rule',
      'by the rule that is built in',
      'cancelled',
      'changes_requested',
      'expired',
      'rejected',
    ].toSorted(),
  );
  expect([...types].toSorted()).toEqual(
    [
      'decision_refused',
      'delivered',
      'delivery_failed',
      'effect_outcome_recorded',
      'escalated',
      'reminded',
      'requested',
      'resolved',
      'voted',
    ].toSorted(),
  );
  expect(votes).toBe(3);
});

test('a person is counted once, and an approval always has its quorum', () => {
  always((run) => {
    const resolved = resolutionIn(run);
    if (resolved?.outcome !== 'approved' || resolved.rule !== undefined) return;
    const latest = new Map(taken(run).map(({ by, verb }) => [by, verb]));
    const approvers = [...latest].filter(([, verb]) => verb === 'approve').map(([by]) => by);
    const quorum = requestIn(run)?.policy?.quorum ?? 1;
    expect(approvers).toHaveLength(quorum);
    const said = (resolved.votes ?? []).map(({ by }) => by);
    expect(new Set(said).size).toBe(said.length);
    const { by } = GrantClaims.parse(verify(resolved.grant ?? ''));
    expect(by.split(', ').toSorted()).toEqual(approvers.toSorted());
  });
});

test('a request with enough approvals in time is closed', () => {
  always((run) => {
    const last = run.at(-1)?.after;
    if (last?.status !== 'pending') return;
    const latest = new Map(taken(run).map(({ by, verb }) => [by, verb]));
    const approvals = [...latest.values()].filter((verb) => verb === 'approve').length;
    expect(approvals).toBeLessThan(last.request.policy?.quorum ?? 1);
  });
});

test('no person and no rule decides at or after the deadline', () => {
  always((run) => {
    const [closing] = run.filter(
      ({ before, after }) => before.status === 'pending' && after.status === 'closed',
    );
    if (closing === undefined || closing.after.status !== 'closed') return;
    const { surface, outcome } = closing.after.decided;
    if (surface === 'clock' || outcome === 'cancelled') return;
    expect(closing.now).toBeLessThan((closing.before as Pending).expiresAt);
    expect(closing.after.decided.at).toBe(closing.now);
  });
});

test('with a veto a valid rejection closes the request at once', () => {
  always((run) => {
    for (const { message, before, after, made, now } of run) {
      if (message.kind !== 'decide' || message.payload.decision !== 'reject') continue;
      if (before.status !== 'pending' || before.request.policy?.veto === false) continue;
      // To a program it is an answer like the other.
      if (before.request.input !== undefined) continue;
      if (made.answer === undefined || 'error' in made.answer) continue;
      expect(after).toMatchObject({
        status: 'closed',
        decided: { outcome: 'rejected', by: message.by.name, at: now },
      });
    }
  });
});

test('votes count only from the audience and, with four eyes, not from the requester', () => {
  always((run) => {
    for (const { message, before, made } of run) {
      if (message.kind !== 'decide' || before.status !== 'pending') continue;
      if (made.answer === undefined || 'error' in made.answer) continue;
      const { request, steps } = before;
      const later = (request.policy?.handOn ?? [])
        .toSorted((a, b) => a.afterMs - b.afterMs)
        .slice(0, steps)
        .flatMap((step) => step.audience);
      const names = namesOf(message.by);
      expect([...request.audience, ...later].some((asked) => names.includes(asked))).toBe(true);
      const isOwn = message.by.name === request.requestedBy;
      expect(request.policy?.fourEyes === true && isOwn).toBe(false);
    }
  });
});

test('the audience only grows, and only by escalation', () => {
  always((run) => {
    for (const { before, after, made } of run) {
      if (before.status !== 'pending' || after.status === 'absent' || after.status === 'withdrawn') continue;
      if (!('audience' in after)) continue;
      expect(after.audience).toEqual(expect.arrayContaining([...before.audience]));
      const isHandedOn = made.events.some(({ type }) => type === 'escalated');
      expect(isHandedOn ? before.audience : after.audience).toEqual(before.audience);
    }
  });
});

test('a bulk decision never answers a question', () => {
  always((run) => {
    for (const { message, before, made } of run) {
      if (message.kind !== 'decide' || message.isOneOfMany !== true || before.status !== 'pending') continue;
      if (message.payload.decision !== 'approve' || questionOf(before.request) === 'effect') continue;
      expect(made.answer).toHaveProperty('error');
    }
  });
});

test('a rule never approves a request that needs a person', () => {
  always((run) => {
    const resolved = resolutionIn(run);
    if (resolved?.rule === undefined) return;
    const { effect, policy, inDoubt: doubt, stuck, input, digest } = requestIn(run) ?? {};
    const isRollback = resolved.rule === ROLLBACK_RULE && digest === rollbackFor().digest;
    expect(isRollback ? [] : ['deploy', 'merge', 'destructive_edit']).not.toContain(effect?.kind);
    expect({ quorum: policy?.quorum ?? 1, rules: policy?.rules ?? true, doubt, stuck, input }).toEqual({
      quorum: 1,
      rules: true,
      doubt: undefined,
      stuck: undefined,
      input: undefined,
    });
  });
});

test('a pending request has its expiry timer; a closed one has only timers of notices, outcome and remembered rules', () => {
  always((run) => {
    const set = new Set<string>();
    for (const { message, made, after } of run) {
      if (message.kind === 'timer') set.delete(message.name);
      for (const timer of made.timers) {
        if ('set' in timer) set.add(timer.set);
        else set.delete(timer.clear);
      }
      const waits = after.status === 'pending';
      expect(waits).toBe(set.has('expiry'));
      const left = [...set].filter((name) => !/^(notice\/|keep_rule$|rules$|outcome$)/.test(name));
      expect(waits ? [] : left).toEqual([]);
    }
  });
});

test('a resolution never changes', () => {
  always((run) => {
    const ends = run.flatMap(({ after }) => ('decided' in after ? [after.decided] : []));
    for (const end of ends) expect(end).toEqual(ends[0]);
    expect(eventsOf(run).filter(({ type }) => type === 'resolved').length).toBeLessThanOrEqual(1);
  });
});

test('each notice is recorded once per surface, and reminders and escalations once and in order', () => {
  always((run) => {
    const all = eventsOf(run);
    const told = all.flatMap((event) =>
      event.type === 'delivered' || event.type === 'delivery_failed'
        ? [`${event.surface}/${event.notice}/${String(event.number)}`]
        : [],
    );
    expect(new Set(told).size).toBe(told.length);
    const turns = (type: 'reminded' | 'escalated') =>
      all.flatMap((event) =>
        event.type === type ? [event.type === 'reminded' ? event.reminder : event.step] : [],
      );
    expect(turns('escalated')).toEqual(turns('escalated').map((_, index) => index + 1));
    // One reminder stands for all that were due.
    const reminded = turns('reminded');
    expect(reminded).toEqual([...new Set(reminded)].toSorted((a, b) => a - b));
  });
});

test('a rule respects its number of uses, decides once per approval, and never after its revocation', () => {
  fc.assert(
    fc.property(ruleActs, (acts) => {
      const all = eventsOf(runOf(rules, acts));
      const [added] = all.flatMap((event) => (event.type === 'rule_added' ? [event] : []));
      const used = all.flatMap((event) => (event.type === 'rule_used' ? [event] : []));
      expect(used.length).toBeLessThanOrEqual(added?.spec.usesMax ?? Infinity);
      expect(new Set(used.map(({ approval }) => approval)).size).toBe(used.length);
      const revoked = all.findIndex(({ type }) => type === 'rule_revoked');
      expect(revoked < 0 ? [] : all.slice(revoked + 1)).toEqual([]);
      for (const { at } of used) expect(at).toBeLessThan(added?.expiresAt ?? Infinity);
    }),
    { numRuns: 500 },
  );
});

test('the people in these tests have different names', () => {
  expect(new Set(PEOPLE.map(({ name }) => name)).size).toBe(PEOPLE.length);
});

test('an administrator of the store is left whenever the deployment names no other', () => {
  fc.assert(
    fc.property(peopleActs, (acts) => {
      for (const { before, after, message } of runOf(peopleDecider, acts)) {
        const administratorsIn = (state: typeof before) =>
          state?.people.filter(
            ({ groups, removedBy }) => removedBy === undefined && groups.includes('operators'),
          ).length ?? 0;
        const isKept = message.hasOtherAdministrators || administratorsIn(before) === 0;
        expect(isKept || administratorsIn(after) > 0).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
