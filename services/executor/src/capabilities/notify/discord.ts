import { NotifyDiscord } from '@holdpoint/contracts/effect/notify';
import type { Capability } from '../../ports/capability.ts';
import { type Notices, sendNotice } from './send-notice.ts';
import { webhookUrl } from './webhook-url.ts';

const USES = 'cap.notify.discord';

/** A message to a channel of Discord, which calls nobody by name. Sent again after a doubt: to see it twice does no harm. */
export const notifyDiscord = ({ targets, limits }: Notices): Capability<typeof NotifyDiscord> => ({
  uses: USES,
  input: NotifyDiscord,
  target: ({ origin }) => origin,
  run: async ({ webhook, origin, content, embeds }, context) => {
    const reach = { uses: USES, origins: targets };
    const url = webhookUrl({ webhook, origin }, reach, context);
    // Without it Discord answers before the message is kept.
    url.searchParams.set('wait', 'true');
    const body = JSON.stringify({ content, embeds, allowed_mentions: { parse: [] } });
    return sendNotice({ url, body }, reach, context, limits);
  },
});
