import { readFile } from 'node:fs/promises';
import { type Client, createClient } from '@holdpoint/cli/bus/client';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { Deployment } from '../deployment/deployment.ts';

/** A client with its own bus connection. Decisions need a user token. */
export const connectTo = async (
  { natsUrl, credentialsDir }: Pick<Deployment, 'natsUrl' | 'credentialsDir'>,
  token?: string,
): Promise<Client> => {
  const seed = await readFile(layout(credentialsDir).natsSeed('operator'));
  return createClient({ natsUrl, seed, ...(token !== undefined && { token }) });
};
