import { executorConsumer } from '@holdpoint/contracts/bus/streams';
import { errors, type Msg, type NatsConnection } from '@nats-io/transport-node';
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

test('a login that may not read a pool is refused with the setting', async () => {
  const bus = busOf(['_INBOX_executor.>']);
  const request: NatsConnection['request'] = (subject, ...rest) =>
    subject.endsWith('.executor-nosuch')
      ? Promise.reject(new errors.PermissionViolationError('no', 'publish', subject))
      : bus.request(subject, ...rest);
  const examinePools = (...pools: readonly string[]) =>
    examineBus({ ...bus, request }, 'executor', {
      inboxPrefix: '_INBOX_executor',
      hasLogin: true,
      reads: pools.map(executorConsumer),
    });
  await expect(examinePools('default', 'nosuch')).rejects.toMatchObject({
    code: 'BUS_USER_WRONG',
    message:
      'the bus user executor may not read executor-nosuch: list the pool in HOLDPOINT_DEPLOYMENT_POOLS',
  });
  await expect(examinePools('default', 'web')).resolves.toBeUndefined();
});
