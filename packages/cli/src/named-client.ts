import type { Client } from './client.ts';

/** Under which name each endpoint takes who gives the command. */
const NAMED: Readonly<Record<string, 'requestedBy' | 'by'>> = {
  submit: 'requestedBy',
  cancel: 'by',
  pause: 'by',
  resume: 'by',
  retry: 'by',
  skip: 'by',
  done: 'by',
  checkpoint: 'by',
  fork: 'by',
};

const NAME_MAX = 200;

const withName = <Payload>(endpoint: string, payload: Payload, user: string): Payload => {
  const field = Object.hasOwn(NAMED, endpoint) ? NAMED[endpoint] : undefined;
  return field === undefined ? payload : { [field]: user.slice(0, NAME_MAX), ...payload };
};

/**
 * The same client, which says who gives a command to a task: for the record, as this machine knows its user. It proves nothing;
 * who decides on an approval is known by a token.
 */
export const namedClient = (client: Client, user: string | undefined): Client => {
  if (user === undefined || user === '') return client;
  const call: Client['call'] = (service, endpoint, payload, options) =>
    client.call(
      service,
      endpoint,
      service === 'orchestrator' ? withName(endpoint, payload, user) : payload,
      options,
    );
  return { ...client, call, userName: user };
};
