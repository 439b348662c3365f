import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { publish } from '../bus/consumers.ts';
import { sampleEffect } from '../effects/orders.ts';

/** A request as the orchestrator sends it, for an effect without a submitted task. */
export const requestOf = (more: Partial<RequestApproval> = {}): RequestApproval => {
  const effect = sampleEffect();
  const { task, node, idempotencyKey } = effect;
  return {
    id: approvalIdOf(task, node, 1),
    task,
    node,
    revision: 1,
    effectId: effectIdOf(task, node, idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'append a line',
    requestedBy: 'linus',
    audience: ['operators'],
    timeoutMs: 300_000,
    ...more,
  };
};

/** Sends a request to the approvals service, as the orchestrator's bus user. */
export const publishRequest = async (
  orchestrator: NatsConnection,
  request: RequestApproval,
): Promise<void> => {
  await publish(orchestrator, subjects.approvalCommand('request'), JSON.stringify(request));
};
