import { NotifyDiscord } from '@holdpoint/contracts/effect/notify';
import type { Capability } from '../../ports/capability.ts';
import { type Notices, sendNotice } from './send-notice.ts';
import { webhookUrl } from './webhook-url.ts';

const USES = 'cap.notify.discord';

/** Posts a message to Discord, without mentions. It is repeated after a doubt: reading it twice does no harm. */
export const notifyDiscord = ({ targets, limits }: Notices): Capability<typeof NotifyDiscord> => ({
  uses: USES,
  input: NotifyDiscord,
  target: ({ origin }) => origin,
  run: async ({ webhook, origin, content, embeds }, context) => {
    const reach = { uses: USES, origins: targets };
    const url = webhookUrl({ webhook, origin }, reach, context);
    // Otherwise Discord answers before it has stored the message.
    url.searchParams.set('wait', 'true');
    const body = JSON.stringify({ content, embeds, allowed_mentions: { parse: [] } });
    return sendNotice({ url, body }, reach, context, limits);
  },
});
