import { readFile } from 'node:fs/promises';
import { createClient } from '@holdpoint/cli/bus/client';
import type { Client } from '@holdpoint/cli/bus/client';
import { layout } from '../credentials/layout.ts';
import { natsLoginFile } from '../credentials/read.ts';

/** The public API, as the person whom the credentials folder calls the operator. */
export const connectOperator = async (natsUrl: string, credentialsDir: string): Promise<Client> => {
  const files = layout(credentialsDir);
  return createClient({
    natsUrl,
    seed: await readFile(natsLoginFile(credentialsDir, 'operator')),
    token: (await readFile(files.operatorToken, 'utf8')).trim(),
  });
};
