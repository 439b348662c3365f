import { NotifySlack } from '@holdpoint/contracts/effect/notify';
import type { Capability } from '../../ports/capability.ts';
import { type Notices, sendNotice } from './send-notice.ts';
import { webhookUrl } from './webhook-url.ts';

const USES = 'cap.notify.slack';

/** Slack reads mentions and links out of these three, and asks for nothing else to be escaped. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A message to a channel of Slack, or of what takes the same webhooks. Sent again after a doubt: to see it twice does no harm. */
export const notifySlack = ({ targets, limits }: Notices): Capability<typeof NotifySlack> => ({
  uses: USES,
  input: NotifySlack,
  target: ({ origin }) => origin,
  run: async ({ webhook, origin, text }, context) => {
    const reach = { uses: USES, origins: targets };
    const url = webhookUrl({ webhook, origin }, reach, context);
    return sendNotice({ url, body: JSON.stringify({ text: escaped(text) }) }, reach, context, limits);
  },
});
