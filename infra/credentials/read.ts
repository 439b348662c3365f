import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { recordInTurn } from '../local/record.ts';
import { isMissing } from './keep.ts';
import { layout, natsUsers } from './layout.ts';
import type { NatsUser, PostgresRole } from './layout.ts';

const readLine = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(`${path} is missing: make it with \`holdpoint provision credentials\``, { cause: error });
  }
};

export type PublicNkeys = Readonly<Record<NatsUser, string>>;

export const readPublicNkeys = (dir: string): Promise<PublicNkeys> =>
  recordInTurn(natsUsers, (user) => readLine(layout(dir).natsPublicKey(user)));

export const readPostgresPassword = (dir: string, role: PostgresRole): Promise<string> =>
  readLine(layout(dir).postgresPassword(role));

export const readNatsSeed = (dir: string, user: NatsUser): Promise<string> =>
  readLine(layout(dir).natsSeed(user));

/** The login of a bus user: `.creds` if the folder has them, else the seed. */
export const natsLoginFile = (dir: string, user: NatsUser): string => {
  const { natsCreds, natsSeed } = layout(dir);
  return existsSync(natsCreds(user)) ? natsCreds(user) : natsSeed(user);
};
