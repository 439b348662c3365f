import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { choicesOf, questionOf } from '@holdpoint/contracts/approval/question';
import { AnswerClaims, GrantClaims } from '@holdpoint/contracts/effect/grant';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acts } from '../../testing/messages.ts';
import { ada, decider, grace, requestFor, verify } from '../../testing/requests.ts';
import type { ApprovalState } from './state.ts';

const resolutionsOf = (run: Parameters<typeof eventsOf<ApprovalEvent>>[0]) =>
  eventsOf(run).flatMap((event) => (event.type === 'resolved' ? [event] : []));

test('any messages in any order satisfy the laws of a decider', () => {
  fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
});

test('an approval is requested once and then resolved at most once, or cancelled without a request', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const all = eventsOf(runOf(decider, sequence));
      const main = all.filter(({ type }) => type === 'requested' || type === 'resolved');
      const ends = main.map((event) =>
        event.type !== 'resolved' ? event.type : event.outcome === 'cancelled' ? 'cancelled' : 'resolved',
      );
      expect([
        [],
        ['requested'],
        ['requested', 'resolved'],
        ['requested', 'cancelled'],
        ['cancelled'],
      ]).toContainEqual(ends);
    }),
  );
});

test('every event satisfies the contract', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const event of eventsOf(runOf(decider, sequence))) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(ApprovalEvent.parse(sent)).toEqual(sent);
      }
    }),
  );
});

test('only an approval in time by an entitled person carries a grant, and for the requested effect', () => {
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

test('only questions are answered, in time and by an entitled person, with a signed statement or a valid response', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = runOf(decider, sequence);
      const asked = eventsOf(run).find((event) => event.type === 'requested');
      for (const { outcome, statement, answer, response, by, at } of resolutionsOf(run)) {
        const question = questionOf(asked ?? {});
        const hasResponse = outcome === 'answered' && question === 'input';
        expect(response !== undefined).toBe(hasResponse);
        expect(answer === undefined).toBe(outcome !== 'answered' || hasResponse);
        expect(statement === undefined).toBe(outcome !== 'answered' || question !== 'in_doubt');
        const ends = ['answered', 'expired', 'cancelled'];
        const fits = question === 'effect' ? outcome !== 'answered' : ends.includes(outcome);
        expect(fits, outcome).toBe(true);
        if (outcome !== 'answered') continue;
        expect(['ada', 'grace']).toContain(by);
        expect(at).toBeLessThan(asked?.expiresAt ?? 0);
        const { input } = asked ?? {};
        expect(input === undefined ? [] : inputProblems(input, response ?? null)).toEqual([]);
        if (answer === undefined) continue;
        expect(choicesOf(asked ?? {})).toContain(answer);
        if (statement === undefined) continue;
        expect(GrantClaims.safeParse(verify(statement)).success).toBe(false);
        expect(AnswerClaims.parse(verify(statement))).toMatchObject({
          digest: asked?.digest,
          sub: asked?.effectId,
          jti: requestFor().id,
          epoch: asked?.inDoubt?.epoch,
          answer,
          by,
        });
      }
    }),
  );
});

/** As stored: without undefined fields. */
const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

const isOver = ({ status }: ApprovalState): boolean => status === 'closed' || status === 'withdrawn';

test('nothing changes a resolved approval', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = runOf(decider, sequence);
      const [first] = run.filter(({ after }) => isOver(after));
      for (const { before, after, made } of run.filter((step) => isOver(step.before))) {
        expect(after).toEqual(first?.after);
        expect({ timers: made.timers, work: made.work }).toEqual({ timers: [], work: [] });
        expect(before).toEqual(first?.after);
      }
    }),
  );
});

test('every request and cancellation leads to a published resolution or a set expiry timer', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { message, made, after } of runOf(decider, sequence)) {
        const taken = made.answer === undefined || 'ok' in made.answer;
        if ((message.kind !== 'request' && message.kind !== 'cancel') || !taken) continue;
        const told = [
          ...made.events.filter(({ type }) => type === 'resolved'),
          ...made.send.map(({ data }) => data as ApprovalEvent),
        ];
        // What an earlier version cancels too soon is too little to answer with.
        const unknown = message.kind === 'cancel' && message.payload.task === undefined;
        const later = message.kind === 'request' ? ['pending'] : unknown ? ['absent'] : [];
        expect(['closed', 'withdrawn', ...later]).toContain(after.status);
        const due = 'decided' in after ? [{ type: 'resolved', ...after.decided }] : [];
        expect(stored(told)).toMatchObject(stored(due));
      }
    }),
  );
});

test('a pending approval has an expiry timer, and an approved one an outcome timer instead', () => {
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
        const asked = set.delete('outcome');
        expect([...set]).toEqual(after.status === 'pending' ? [['expiry', after.expiresAt]] : []);
        expect(asked && after.status === 'closed' && after.decided.grant === undefined).toBe(false);
      }
    }),
  );
});
