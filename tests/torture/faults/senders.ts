import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { NatsUser } from '@holdpoint/infra/credentials/layout';
import { connectAs } from '@holdpoint/infra/nats/connect';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Deployment } from '../deployment/deployment.ts';

/** Connections of every user that may publish. */
export type Senders = { readonly [User in ServiceName | 'operator']: NatsConnection };

/** The user that may publish on a subject, or undefined. */
export const senderOf = (subject: string): keyof Senders | undefined => {
  const [, kind, about, verb] = subject.split('.');
  if (kind === 'evt') {
    const owners = {
      task: 'orchestrator',
      approval: 'approvals',
      effect: 'executor',
      recovery: 'recovery',
    } as const;
    return Object.entries(owners).find(([aggregate]) => aggregate === about)?.[1];
  }
  if (kind !== 'cmd') return undefined;
  return SAYS[`${String(about)}.${String(verb)}`] ?? (about === 'task' ? 'operator' : 'orchestrator');
};

/** Commands of services other than the orchestrator. */
const SAYS: Readonly<Record<string, keyof Senders>> = {
  'task.recover': 'recovery',
  'task.circuit_state': 'recovery',
  'task.watch': 'orchestrator',
  'task.notify': 'orchestrator',
  'task.registry': 'orchestrator',
  'recovery.circuit_record_failure': 'recovery',
  'recovery.circuit_report': 'executor',
};

export const withSenders = async <Result>(
  { natsUrl, credentialsDir }: Deployment,
  work: (senders: Senders) => Promise<Result>,
): Promise<Result> => {
  const connect = (user: NatsUser): Promise<NatsConnection> =>
    connectAs({ url: natsUrl, credentialsDir, user });
  const users = [...SERVICES, 'operator'] as const;
  const opened = await Promise.allSettled(users.map(connect));
  try {
    const senders = opened.map((each) => {
      if (each.status === 'rejected') throw each.reason;
      return each.value;
    });
    const named = Object.fromEntries(users.map((user, i) => [user, senders[i]]));
    return await work(named as Senders);
  } finally {
    const connections = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    await Promise.allSettled(connections.map((connection) => connection.close()));
  }
};
