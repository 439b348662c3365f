import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { headers } from '@nats-io/transport-node';
import { z } from 'zod';
import { OURS } from '../bus-recorder.ts';
import { defineFault } from './fault.ts';
import { senderOf, withSenders } from './senders.ts';

/** Recent messages again, in reverse order and under new message ids, so that the bus drops none. */
export const duplicates = defineFault({
  name: 'duplicates',
  group: 'message',
  weight: 2,
  params: z.object({ messages: z.int().min(1), times: z.int().min(1) }),
  draw: (random) => ({ messages: random.int(200, 2_000), times: random.int(1, 3) }),
  // A stopped server accepts no messages.
  takes: () => ['nats'],
  inject: ({ messages, times }, { deployment, recorder, step }) =>
    withSenders(deployment, async (senders) => {
      const again = recorder.latest().slice(-messages).toReversed();
      let sent = 0;
      for (let round = 0; round < times; round += 1) {
        for (const { subject, body } of again) {
          const user = senderOf(subject);
          if (user === undefined) continue;
          const id = headers();
          id.set(HEADERS.messageId, `${OURS}again-${String(step)}-${String(sent)}`);
          senders[user].publish(subject, body, { headers: id });
          sent += 1;
        }
      }
      await Promise.all(Object.values(senders).map((connection) => connection.flush()));
      return { sent };
    }),
});
