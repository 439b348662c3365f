import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { examineBus } from './examine-bus.ts';

/** A bus that reports these subscriptions of the login. */
const busOf = (allow: readonly string[] | undefined): NatsConnection => {
  const permissions = allow && { subscribe: { allow } };
  return {
    info: { version: '2.11.0', max_payload: 2_097_152, jetstream: true },
    request: (subject: string) =>
      Promise.resolve({
        json: () => (subject.startsWith('$SYS.') ? { data: { permissions } } : {}),
      } as Msg),
  } as unknown as NatsConnection;
};

const examine = (allow: readonly string[] | undefined) =>
  examineBus(busOf(allow), 'approvals', { inboxPrefix: '_INBOX_approvals', hasLogin: true });

test('the login of the bus user is accepted', async () => {
  await expect(examine(['_INBOX_approvals.>', 'hp.api.approvals.>'])).resolves.toBeUndefined();
});

test.each([
  ['of another bus user', ['_INBOX_worker.>']],
  ['with all rights', ['>']],
  ['without any limit', undefined],
])('a login %s does not become the service', async (_whose, allow) => {
  await expect(examine(allow)).rejects.toMatchObject({ code: 'BUS_USER_WRONG' });
});
