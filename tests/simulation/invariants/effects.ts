import { effectDigest, type EffectEvent } from '@holdpoint/contracts/effect';
import { canonicalJson } from '@holdpoint/contracts/json';
import { type EffectState, entryIn } from '@holdpoint/executor/domain/ledger';
import type { Change } from '../books.ts';
import { verifyGrant } from '../grants.ts';
import type { Application } from '../target.ts';
import type { World } from '../world.ts';

const REPEATABLE: ReadonlySet<string> = new Set(['keyed', 'idempotent']);
/** These say that nothing has happened. */
const NOTHING_HAPPENED: ReadonlySet<string> = new Set([
  'absent',
  'prepared',
  'refused',
  'failed_clean',
  'cancelled',
]);

/** What is started was approved, is in nobody else's hands, and is never recorded as what it is not. */
export const checkEffect = (
  { judge, target, books, reports }: World,
  { aggregate, before, event }: Change<EffectState, EffectEvent>,
): void => {
  const entry = entryIn(before);
  const seen = (epoch: number): string | undefined => reports.get(`${aggregate} ${String(epoch)}`);
  if (event.type === 'started') {
    const { effect, grant } = event.order;
    const claims = verifyGrant(grant);
    const approval = books.approvals.stateOf(claims?.jti ?? '');
    const granted =
      approval.status === 'closed' &&
      approval.decided.outcome === 'approved' &&
      approval.request.digest === effectDigest(effect) &&
      claims?.digest === approval.request.digest;
    judge.expect('no effect starts without a matching grant', granted, event.task, () =>
      JSON.stringify({ effect, claims, approval }),
    );
    judge.expect(
      'epochs rise',
      event.epoch > (entry?.epoch ?? 0),
      event.task,
      () => `${String(event.epoch)} after ${String(entry?.epoch)}`,
    );
    judge.expect(
      'nothing starts while it is under way or done',
      before.status !== 'started' && before.status !== 'applied',
      event.task,
      () => before.status,
    );
    judge.expect(
      'what may have happened is repeated only where that is harmless',
      REPEATABLE.has(effect.effectClass) || entry?.unsure !== true,
      event.task,
      () => `${aggregate} is ${effect.effectClass} and was in doubt`,
    );
  }
  if (event.type === 'applied') {
    judge.expect(
      'what is recorded applied was applied',
      target.applications(aggregate) > 0,
      event.task,
      () => aggregate,
    );
    // A late report resolves a doubt; it is entered under its own epoch first.
    const late = before.status === 'in_doubt' && entry?.evidence.some((epoch) => seen(epoch) === 'applied');
    judge.expect(
      'an outcome is recorded only as it was seen under that epoch',
      seen(event.epoch) === 'applied' || late === true,
      event.task,
      () => `epoch ${String(event.epoch)} of ${aggregate} reported ${String(seen(event.epoch))}`,
    );
  }
  if (event.type === 'superseded') {
    judge.expect(
      'an outcome is recorded only as it was seen under that epoch',
      seen(event.epoch) === event.observed,
      event.task,
      () => `epoch ${String(event.epoch)} of ${aggregate} reported ${String(seen(event.epoch))}`,
    );
  }
  if (event.type === 'failed_clean')
    judge.expect(
      'what is recorded as not applied was not',
      target.applications(aggregate) === 0,
      event.task,
      () => aggregate,
    );
};

/** Checked when something reaches the world. */
export const checkApplication = (
  { judge, target, books }: World,
  { effect, uses, args }: Application,
): void => {
  const state = books.executor.stateOf(effect);
  const order = entryIn(state)?.order;
  const task = order?.effect.task ?? '';
  judge.expect(
    'an effect is applied at most once',
    target.applications(effect) === 1,
    task,
    () => `${effect} (${uses}) was applied ${String(target.applications(effect))} times`,
  );
  judge.expect(
    'nothing is applied that is recorded as not applied',
    !NOTHING_HAPPENED.has(state.status),
    task,
    () => `${effect} is ${state.status}`,
  );
  const exact = order?.effect.uses === uses && canonicalJson(order.effect.args) === canonicalJson(args);
  judge.expect('what is applied is what was approved', exact, task, () =>
    JSON.stringify({ order: order?.effect, uses, args }),
  );
};
