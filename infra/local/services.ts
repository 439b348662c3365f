import { join } from 'node:path';
import { layout, roleOf } from '../credentials/layout.ts';
import type { ServiceName } from '../credentials/layout.ts';

export type ServiceContext = {
  readonly root: string;
  readonly natsUrl: string;
  readonly database: { readonly host: string; readonly port: number; readonly name: string };
  readonly credentialsDir: string;
  readonly workspace: string;
  /** Where executors keep their journals; beside the workspace, when left out. */
  readonly journal?: string;
  /** Where executors note which programs run; beside the workspace, when left out. */
  readonly state?: string;
  /** Folders whose repositories tasks may work in, separated as in PATH; none, when left out. */
  readonly repositories?: string;
  readonly httpPort: number;
};

export const mainFile = (root: string, service: ServiceName): string =>
  join(root, 'services', service, 'src', 'main.ts');

/** What belongs to the shell that a start was typed in, and not to the services. */
const isForeign = (name: string): boolean => /^(npm_|HOLDPOINT_|INIT_CWD$|CI$|VITEST)/i.test(name);

/** What whoever starts the services may tell them: the rest of their settings is made here. */
const PASSED_ON: readonly string[] = [
  'HOLDPOINT_LOG_LEVEL',
  'HOLDPOINT_HTTP_TARGETS',
  'HOLDPOINT_HTTP_KEYED_TARGETS',
  'HOLDPOINT_AGENT',
  'HOLDPOINT_COMMAND_ENV',
  'HOLDPOINT_COMMANDS_MAX',
];

const inherited = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name) || PASSED_ON.includes(name)));

const specific = (
  service: ServiceName,
  { credentialsDir, workspace, journal, state, repositories }: ServiceContext,
): Readonly<Record<string, string>> => {
  const files = layout(credentialsDir);
  switch (service) {
    case 'orchestrator':
      return { HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: files.natsSeed('topology') };
    case 'approvals':
      return { HOLDPOINT_GRANT_KEY_FILE: files.grantKey, HOLDPOINT_PRINCIPALS_FILE: files.principals };
    case 'executor':
      return {
        HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: files.grantPublicKeys,
        HOLDPOINT_WORKSPACE: workspace,
        ...(journal !== undefined && { HOLDPOINT_JOURNAL: journal }),
        ...(state !== undefined && { HOLDPOINT_STATE: state }),
        ...(repositories !== undefined && { HOLDPOINT_REPOSITORIES: repositories }),
        HOLDPOINT_POOL: 'default',
      };
    case 'recovery':
      return {};
  }
};

/** The whole configuration of a service: it reads nothing else. */
export const serviceEnvironment = (
  service: ServiceName,
  context: ServiceContext,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => {
  const { natsUrl, database, credentialsDir, httpPort } = context;
  const files = layout(credentialsDir);
  return {
    ...inherited(env),
    HOLDPOINT_NATS_URL: natsUrl,
    HOLDPOINT_NATS_SEED_FILE: files.natsSeed(service),
    HOLDPOINT_DATABASE_URL: `postgres://${roleOf(service)}@${database.host}:${database.port}/${database.name}`,
    HOLDPOINT_DATABASE_PASSWORD_FILE: files.postgresPassword(roleOf(service)),
    HOLDPOINT_HTTP_HOST: '127.0.0.1',
    HOLDPOINT_HTTP_PORT: String(httpPort),
    ...specific(service, context),
  };
};
