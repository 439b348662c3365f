import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Client } from './client.ts';

type Field = 'requestedBy' | 'by';

/** The field of each command that names the operator. */
const NAMED: { readonly [Service in ServiceName]?: Readonly<Record<string, Field>> } = {
  orchestrator: {
    submit: 'requestedBy',
    cancel: 'by',
    pause: 'by',
    resume: 'by',
    retry: 'by',
    skip: 'by',
    done: 'by',
    checkpoint: 'by',
    fork: 'by',
  },
  recovery: { circuit: 'by' },
};

/** The same for commands of every service. */
const OF_ALL: Readonly<Record<string, Field>> = { dead_letter: 'by' };

const fieldOf = (service: ServiceName, endpoint: string): Field | undefined =>
  [NAMED[service] ?? {}, OF_ALL].find((named) => Object.hasOwn(named, endpoint))?.[endpoint];

const NAME_MAX = 200;

const withName = <Payload>(field: Field | undefined, payload: Payload, user: string): Payload =>
  field === undefined ? payload : { [field]: user.slice(0, NAME_MAX), ...payload };

/** Adds the local user name to commands. The orchestrator records it as unverified, unless a token proves a person. */
export const namedClient = (client: Client, user: string | undefined): Client => {
  if (user === undefined || user === '') return client;
  const call: Client['call'] = (service, endpoint, payload, options) =>
    client.call(service, endpoint, withName(fieldOf(service, endpoint), payload, user), options);
  return { ...client, call, userName: user };
};
