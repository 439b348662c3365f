import { HttpUrl } from '@holdpoint/contracts/effect/http-request';
import { NotifyEnv } from '@holdpoint/runtime/service/origins';
import { z } from 'zod';

/** Settings of signed webhooks. */
export const WebhookEnv = z.object({
  ...NotifyEnv.shape,
  HOLDPOINT_APPROVAL_WEBHOOK: z
    .preprocess((text) => (text === '' ? undefined : text), HttpUrl.optional())
    .describe(
      'URL that gets a [signed webhook](../approvals.md#webhook) for each request, reminder, escalation and decision',
    ),
});

export type WebhookSettings = {
  /** Receiver of the notices about requests. */
  readonly approvals?: string;
  /** Exact origins that callbacks may call. */
  readonly targets: ReadonlySet<string>;
};

export const webhookSettings = ({
  HOLDPOINT_APPROVAL_WEBHOOK: approvals,
  HOLDPOINT_NOTIFY_TARGETS: targets,
}: z.infer<typeof WebhookEnv>): WebhookSettings => ({
  ...(approvals !== undefined && { approvals }),
  targets,
});
