import { CapabilityDefinition } from '@holdpoint/contracts/approval/capability';
import { AccessTokenId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { StandInState } from './stand-in.ts';

const MINUTE_MS = 60_000;
const x = 'A'.repeat(43);

/** Registered capabilities, a program that holds an order, and an effect whose program went silent. */
export const remoteSample = (): Pick<StandInState, 'capabilities' | 'claimants' | 'effects'> => {
  const now = Date.now();
  const refund = CapabilityDefinition.parse({
    name: 'refund',
    title: 'Refund ${cents} cents of charge ${charge}',
    description: 'Pays back a charge at the payment provider.',
    effectClass: 'keyed',
    risk: 'high',
    target: 'payments:${charge}',
    input: { type: 'object' },
    output: { type: 'object', required: ['receipt'] },
    timeoutMs: 90_000,
  });
  const by = { status: 'registered', registeredBy: 'ada', registeredAt: now - 60 * MINUTE_MS } as const;
  const task = TaskId.parse('t-refund000001');
  return {
    capabilities: [
      { ...refund, ...by },
      { ...refund, name: 'mail', title: 'Mail ${to}', ...by, description: undefined, risk: undefined },
      { ...refund, name: 'old_refund', ...by, status: 'withdrawn', withdrawnBy: 'grace' },
    ],
    claimants: [
      {
        claimant: 'refunds on host-1',
        x,
        principal: 'ada',
        token: AccessTokenId.parse('k-7h2k9m1x4c'),
        from: { via: 'http', address: '192.0.2.7' },
        uses: ['cap.remote.refund'],
        isWaiting: false,
        since: now - 30 * MINUTE_MS,
        seenAt: now - 2_000,
        holds: [
          {
            id: EffectId.parse('e-7h2k9m1x4c0a5b3d'),
            epoch: 1,
            uses: 'cap.remote.refund',
            startedAt: now - MINUTE_MS,
          },
        ],
      },
      {
        claimant: 'mails on host-2',
        x: 'B'.repeat(43),
        principal: 'ada',
        uses: ['cap.remote.mail'],
        isWaiting: false,
        since: now - 30 * MINUTE_MS,
        seenAt: now - 10 * MINUTE_MS,
        holds: [],
      },
    ],
    effects: [
      {
        id: EffectId.parse('e-7h2k9m1x4c0a5b3d'),
        task,
        node: NodeId.parse('effect'),
        state: 'in_doubt',
        epoch: 1,
        digest: '0'.repeat(64),
        idempotencyKey: 'refund:ch_1',
        starts: 1,
        uses: 'cap.remote.refund',
        reason: 'claimant refunds on host-1 began at 2026-11-28 09:30:00Z and sent no beat for 30 s',
        next: 'person',
        cause: 'worker_lost',
        remote: {
          claimant: 'refunds on host-1',
          x,
          claim: 'c'.repeat(16),
          leaseMs: 30_000,
          principal: 'ada',
          from: { via: 'http', address: '192.0.2.7' },
          since: now - MINUTE_MS,
        },
      },
    ],
  };
};
