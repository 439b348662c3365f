import { readFile } from 'node:fs/promises';
import { adminRole } from '../credentials/layout.ts';
import { readPostgresPassword } from '../credentials/read.ts';
import { root } from '../local/folders.ts';
import { messageOf } from '../local/problem.ts';
import { readConfig, WrongSetting } from './config.ts';
import type { ProvisionConfig } from './config.ts';
import { UnknownSchema } from './migrate.ts';
import { provision } from './provision.ts';

/** Roles, database, schemas and migrations, for compose and Kubernetes: runs to its end before the services start. */
const EXIT_CONFIG = 78;

const passwordOf = async ({ connection, passwordFile, credentialsDir }: ProvisionConfig): Promise<string> => {
  if (passwordFile !== undefined) return (await readFile(passwordFile, 'utf8')).trim();
  return connection.password ?? readPostgresPassword(credentialsDir, adminRole);
};

/** Roles, database, schemas and migrations, as the settings say. Returns a line for each service. */
export const provisionDatabase = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const config = readConfig(env);
  const { connection, credentialsDir, waitMs, keepDays, roleConnectionsMax } = config;
  const admin = { ...connection, password: await passwordOf(config) };
  const { applied } = await provision({ admin, credentialsDir, root, waitMs, keepDays, roleConnectionsMax });
  return Object.entries(applied)
    .map(
      ([service, names]) =>
        `${service}: ${names.length === 0 ? 'up to date' : `applied ${names.join(', ')}`}`,
    )
    .join('\n');
};

if (import.meta.main)
  try {
    process.stdout.write(`${await provisionDatabase(process.env)}\n`);
  } catch (error) {
    process.stderr.write(`provision: ${messageOf(error)}\n`);
    process.exit(error instanceof WrongSetting || error instanceof UnknownSchema ? EXIT_CONFIG : 1);
  }
