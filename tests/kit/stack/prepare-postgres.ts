import { roleOf, services } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { provision } from '@holdpoint/infra/postgres/provision';
import { TEMPLATE } from './databases.ts';
import type { Admin } from './run.ts';

/** One server hosts many systems; the production limits would be too low for them. */
const liftLimits = (admin: Admin): Promise<void> =>
  withAdmin(admin, async (client) => {
    for (const service of services) await client.query(`ALTER ROLE ${roleOf(service)} CONNECTION LIMIT -1`);
  });

/** Creates the roles, and the template that every test file copies. */
export const preparePostgres = async (admin: Admin, credentialsDir: string): Promise<void> => {
  await provision({ admin, credentialsDir, root, database: TEMPLATE });
  await liftLimits(admin);
};
