import type { Capability } from '../../ports/capability.ts';
import { notifyDiscord } from './discord.ts';
import type { Notices } from './send-notice.ts';
import { notifySlack } from './slack.ts';
import { notifyWebhook } from './webhook.ts';

/** All notifications. `now` is in epoch milliseconds. */
export const notices = (to: Notices, now: () => number): readonly Capability[] => [
  notifyWebhook(to, now),
  notifyDiscord(to),
  notifySlack(to),
];
