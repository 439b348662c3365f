import { readFile } from 'node:fs/promises';
import { type Client, createClient } from '@holdpoint/cli/bus/client';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { Deployment } from '../deployment/deployment.ts';

/** The bus and the public API as their users have them; decisions need a person's token. */
export const connectTo = async (
  { natsUrl, credentialsDir }: Pick<Deployment, 'natsUrl' | 'credentialsDir'>,
  token?: string,
): Promise<Client> => {
  const seed = await readFile(layout(credentialsDir).natsSeed('operator'));
  return createClient({ natsUrl, seed, ...(token !== undefined && { token }) });
};
