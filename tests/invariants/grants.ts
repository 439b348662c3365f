import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** The claims that the check compares, or undefined when the grant cannot be read or its signature is wrong. */
export type ReadGrant = (
  grant: string,
) => { readonly jti: string; readonly sub: string; readonly digest: string } | undefined;

type Approval = { digest: string | undefined; isApproved: boolean };

/** Nothing starts and nothing reaches the target without an approval of exactly this effect, committed before. */
export const watchGrants = (expect: Expect, readGrant: ReadGrant) => {
  const approvalOf = memoryOf((): Approval => ({ digest: undefined, isApproved: false }));
  const orders = new Map<string, RunEffect>();

  const isGranted = (id: string, { grant, digest, effect }: RunEffect): boolean => {
    const claims = grant === undefined ? undefined : readGrant(grant);
    if (claims === undefined) return false;
    const approval = approvalOf(claims.jti);
    return (
      approval.isApproved &&
      approval.digest === digest &&
      digest === effectDigest(effect) &&
      claims.digest === digest &&
      claims.sub === id
    );
  };

  /** Work needs no grant and must not have one. */
  const isWork = ({ grant, effect }: RunEffect): boolean =>
    grant === undefined && CAPABILITIES[effect.uses]?.work === true;

  const mayStart = (id: string, order: RunEffect): boolean =>
    order.effect.kind === 'work' ? isWork(order) : isGranted(id, order);

  return {
    ofApproval: ({ aggregate, event }: Pick<Committed<ApprovalEvent>, 'aggregate' | 'event'>): void => {
      const approval = approvalOf(aggregate);
      if (event.type === 'requested') approval.digest = event.digest;
      if (event.type === 'resolved' && event.outcome === 'approved') approval.isApproved = true;
    },
    ofEffect: ({ aggregate, event }: Pick<Committed<EffectEvent>, 'aggregate' | 'event'>): void => {
      if (event.type !== 'started') return;
      orders.set(aggregate, event.order);
      expect(
        'an effect starts only with a grant for exactly this effect',
        mayStart(aggregate, event.order),
        event.task,
        () => JSON.stringify({ id: aggregate, order: event.order }),
      );
    },
    /** What the target applied. */
    ofApplication: (effect: string): void => {
      const order = orders.get(effect);
      expect(
        'the target applies only what was approved before',
        order !== undefined && order.effect.kind !== 'work' && isGranted(effect, order),
        order?.effect.task ?? effect,
        () => `${effect}: ${JSON.stringify(order)}`,
      );
    },
  };
};
