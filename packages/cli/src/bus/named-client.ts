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
    record_review: 'by',
    fork: 'by',
  },
};

const fieldOf = (service: ServiceName, endpoint: string): Field | undefined => {
  const named = NAMED[service] ?? {};
  return Object.hasOwn(named, endpoint) ? named[endpoint] : undefined;
};

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

/** Commands whose author stays the requester of a task. */
const ASKS: ReadonlySet<string> = new Set(['submit', 'fork']);
const HINT =
  'no token: the requester of this task is unverified. Set HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE to prove it';

/** Warns once when a task is submitted without a token: its requester can then not satisfy four eyes. */
export const hintingClient = (client: Client, warn: (line: string) => void): Client => {
  if (client.canDecide !== false) return client;
  let hinted = false;
  const call: Client['call'] = (service, endpoint, payload, options) => {
    if (service === 'orchestrator' && ASKS.has(endpoint) && !hinted) {
      hinted = true;
      warn(HINT);
    }
    return client.call(service, endpoint, payload, options);
  };
  return { ...client, call };
};
