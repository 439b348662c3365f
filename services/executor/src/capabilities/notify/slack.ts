import { NotifySlack } from '@holdpoint/contracts/effect/notify';
import type { Capability } from '../../ports/capability.ts';
import { type Notices, sendNotice } from './send-notice.ts';
import { webhookUrl } from './webhook-url.ts';

const USES = 'cap.notify.slack';

/** Slack needs these three characters escaped, to prevent mentions and links. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Posts a message to Slack, or to a compatible webhook. It is repeated after a doubt: reading it twice does no harm.
 */
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
