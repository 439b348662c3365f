import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Client } from '../bus/client.ts';
import { newSecret } from '../token/secret.ts';

export type ConsoleLink = { readonly url: string; readonly expiresAt: number | undefined };

/**
 * A link that opens one session of the console, as the owner of the client's token. The code is in the fragment: browsers
 * send it to no server, and only its hash goes over the bus.
 */
export const consoleLink = async (client: Pick<Client, 'call'>, address: string): Promise<ConsoleLink> => {
  const code = newSecret('hpc');
  const { expiresAt } = await client.call('approvals', 'token_create', {
    name: 'console sign-in',
    sha256: sha256Of(code),
    signIn: true,
  });
  const url = new URL(address);
  url.hash = `/sign-in/${code}`;
  return { url: url.href, expiresAt };
};
