import { ApprovalEvent } from '@holdpoint/contracts/approval';
import { GrantClaims } from '@holdpoint/contracts/effect';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acts } from '../testing/messages.ts';
import { ada, decider, grace, requestFor, verify } from '../testing/requests.ts';

const resolutionsOf = (run: Parameters<typeof eventsOf<ApprovalEvent>>[0]) =>
  eventsOf(run).flatMap((event) => (event.type === 'resolved' ? [event] : []));

test('any messages in any order keep every law of a decider', () => {
  fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
});

test('an approval is requested once, resolved at most once, and in this order', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const types = eventsOf(runOf(decider, sequence)).map(({ type }) => type);
      expect([[], ['requested'], ['requested', 'resolved']]).toContainEqual(types);
    }),
  );
});

test('every event is one that the contract allows', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const event of eventsOf(runOf(decider, sequence))) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(ApprovalEvent.parse(sent)).toEqual(sent);
      }
    }),
  );
});

test('only an approval carries a grant, given in time by somebody entitled, for what was requested', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = runOf(decider, sequence);
      const asked = eventsOf(run).find((event) => event.type === 'requested');
      for (const { outcome, grant, by, at } of resolutionsOf(run)) {
        expect(grant === undefined).toBe(outcome !== 'approved');
        if (grant === undefined) continue;
        expect(
          [ada, grace]
            .filter(({ groups }) => groups.some((group) => asked?.audience.includes(group)))
            .map(({ name }) => name),
        ).toContain(by);
        expect(at).toBeLessThan(asked?.expiresAt ?? 0);
        expect(GrantClaims.parse(verify(grant))).toMatchObject({
          digest: asked?.digest,
          sub: asked?.effectId,
          jti: requestFor().id,
        });
      }
    }),
  );
});

test('once it is resolved, nothing changes it any more', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = runOf(decider, sequence);
      const [first] = run.filter(({ after }) => after.status === 'closed');
      for (const { before, after, made } of run.filter((step) => step.before.status === 'closed')) {
        expect(after).toEqual(first?.after);
        expect({ timers: made.timers, work: made.work }).toEqual({ timers: [], work: [] });
        expect(before).toEqual(first?.after);
      }
    }),
  );
});

test('as long as it waits, its expiry is set; once it is resolved, it is not', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const set = new Map<string, number>();
      for (const { message, made, after } of runOf(decider, sequence)) {
        // A timer that fired is gone, unless it is set again.
        if (message.kind === 'timer') set.delete(message.name);
        for (const timer of made.timers) {
          if ('set' in timer) set.set(timer.set, timer.dueAt);
          else set.delete(timer.clear);
        }
        expect([...set]).toEqual(after.status === 'pending' ? [['expiry', after.expiresAt]] : []);
      }
    }),
  );
});
