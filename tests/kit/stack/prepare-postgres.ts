import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { coreRole, roleOf } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { type AdminConnection, withAdmin } from '@holdpoint/infra/postgres/admin';
import { provision } from '@holdpoint/infra/postgres/provision';
import { TEMPLATE } from './databases.ts';
import type { Admin } from './run.ts';

/** The default limits are for two replicas of a service on a server of their own. */
export const liftConnectionLimits = (admin: AdminConnection): Promise<void> =>
  withAdmin(admin, async (client) => {
    for (const role of [...SERVICES.map(roleOf), coreRole])
      await client.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
  });

/** Creates the roles, and the template that every test file copies. */
export const preparePostgres = async (admin: Admin, credentialsDir: string): Promise<void> => {
  await provision({ admin, credentialsDir, root, database: TEMPLATE });
  await liftConnectionLimits(admin);
};
