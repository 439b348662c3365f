import { z } from 'zod';
import { ApprovalView } from '../approval/views.ts';
import { HeldEffect } from '../effect/hold.ts';

const common = {
  version: z.literal(1),
  /** When it happened. A header has the time of sending. */
  timestamp: z.iso.datetime(),
} as const;

/** A request, without the arguments of its effect. */
export const NoticedApproval = ApprovalView.pick({
  id: true,
  task: true,
  node: true,
  title: true,
  requestedBy: true,
  agent: true,
  audience: true,
  risk: true,
  status: true,
  requestedAt: true,
  expiresAt: true,
  decidedBy: true,
  decidedAt: true,
  comment: true,
}).extend({
  uses: z.string(),
  kind: z.string(),
  target: z.string(),
});
export type NoticedApproval = z.infer<typeof NoticedApproval>;

/** Body of a signed webhook: a held effect that ended or is in doubt, or an occasion of a request. */
export const WebhookEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.enum([
      'effect.applied',
      'effect.failed',
      'effect.rejected',
      'effect.cancelled',
      'effect.in_doubt',
    ]),
    ...common,
    data: HeldEffect,
  }),
  z.object({
    type: z.enum(['approval.requested', 'approval.reminded', 'approval.escalated', 'approval.resolved']),
    ...common,
    data: NoticedApproval,
  }),
]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;
