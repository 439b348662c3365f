import { delimiter, join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { layout, roleOf } from '../../credentials/layout.ts';
import { natsLoginFile } from '../../credentials/read.ts';
import { programFile } from '../folders.ts';

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
  /** Folders that processes of work cannot see, beside the executor's own. */
  readonly hidden?: readonly string[];
  readonly httpPort: number;
};

/** The program that runs the services of `HOLDPOINT_SERVICES`. */
export const serveFile = (root: string): string => programFile(root, 'infra/serve.ts');

export const mainFile = (root: string, service: ServiceName): string =>
  programFile(root, `services/${service}/src/main.ts`);

/** Smaller heaps and more collections: less than half of the memory, for less throughput. */
const SMALL = ['--max-semi-space-size=1', '--optimize-for-size'];
/** One arena for all threads: each further one keeps memory that it no longer needs. A database connection is a process. */
const smallEnvironment = (services: readonly ServiceName[]) => ({
  MALLOC_ARENA_MAX: '1',
  // The services of a core share further connections for their transactions.
  HOLDPOINT_DATABASE_CONNECTIONS_MAX: services.length > 1 ? '3' : '6',
});

/** How to run services in one process. The folder marks the process for the cleanup of leftovers. */
export const serviceCommand = (
  root: string,
  services: readonly ServiceName[],
  folder: string,
  isSmall = false,
) => ({
  command: process.execPath,
  args: [
    ...(isSmall ? SMALL : []),
    services.length === 1 && services[0] !== undefined ? mainFile(root, services[0]) : serveFile(root),
    folder,
  ],
  cwd: root,
  env: {
    // Compiled code from an earlier start halves the start time and saves a fifth of the memory.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    ...(isSmall && smallEnvironment(services)),
  },
});

/** What belongs to the shell that a start was typed in, and not to the services. */
const isForeign = (name: string): boolean => /^(npm_|HOLDPOINT_|INIT_CWD$|CI$|VITEST)/i.test(name);

/** Settings that the caller of a start may pass on; the start computes the others. */
const PASSED_ON: readonly string[] = [
  'HOLDPOINT_LOG_LEVEL',
  'HOLDPOINT_HTTP_TARGETS',
  'HOLDPOINT_HTTP_KEYED_TARGETS',
  'HOLDPOINT_HTTP_IDEMPOTENT_TARGETS',
  'HOLDPOINT_HTTP_PUBLIC',
  'HOLDPOINT_NOTIFY_TARGETS',
  'HOLDPOINT_AGENT',
  'HOLDPOINT_PROCESS_ENV',
  'HOLDPOINT_CAPABILITIES',
  'HOLDPOINT_WORK',
  'HOLDPOINT_WORK_NETWORK',
  'HOLDPOINT_WORK_USER',
  'HOLDPOINT_WORK_FOLDERS',
  'HOLDPOINT_PROCESS_MEMORY_MIB',
  'HOLDPOINT_PROCESS_MAX_PROCESSES',
  'HOLDPOINT_PROCESS_FILE_MIB',
  'HOLDPOINT_PROCESS_CPU_SECONDS',
  'HOLDPOINT_SECRETS_FILE',
  'HOLDPOINT_MAX_CONCURRENT_PROCESSES',
  'HOLDPOINT_LOG_MAX_MIB',
  'HOLDPOINT_SPOOL_MAX_MIB',
  'HOLDPOINT_EXECUTOR_POOLS',
  'HOLDPOINT_DEPLOYMENT_POOLS',
  'HOLDPOINT_STREAM_REPLICAS',
  'HOLDPOINT_MAX_CONCURRENT_PER_TARGET',
  'HOLDPOINT_CIRCUIT_OPEN_MS',
  'HOLDPOINT_CIRCUIT_PROBE_AFTER_MS',
  'HOLDPOINT_ROLLBACK_RULE',
  'HOLDPOINT_POLICY_FILE',
  'HOLDPOINT_WEB_ORIGINS',
  'HOLDPOINT_WATCH_HEARTBEAT_MS',
  'HOLDPOINT_CONSOLE_DIR',
  'HOLDPOINT_ADMINISTRATORS',
  'HOLDPOINT_OIDC_ISSUER',
  'HOLDPOINT_OIDC_AUDIENCE',
  'HOLDPOINT_OIDC_JWKS',
  'HOLDPOINT_OIDC_GROUPS_CLAIM',
  'HOLDPOINT_OIDC_NAME_CLAIM',
  'HOLDPOINT_OIDC_SCOPES',
  'HOLDPOINT_OIDC_CLIENT_ID',
  'HOLDPOINT_OIDC_CLIENT_SECRET_FILE',
  'HOLDPOINT_OIDC_CLIENT_SCOPES',
  'HOLDPOINT_OIDC_PROVIDER_NAME',
  'HOLDPOINT_DISCORD_TOKEN_FILE',
  'HOLDPOINT_DISCORD_CHANNEL',
  'HOLDPOINT_DISCORD_PUBLIC_KEY',
  'HOLDPOINT_TEST_DISCORD_API',
  'HOLDPOINT_APPROVAL_WEBHOOK',
];

const inherited = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name) || PASSED_ON.includes(name)));

const specific = (
  service: ServiceName,
  { credentialsDir, workspace, journal, state, repositories, hidden = [] }: ServiceContext,
): Readonly<Record<string, string>> => {
  const files = layout(credentialsDir);
  switch (service) {
    case 'orchestrator':
      return { HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: natsLoginFile(credentialsDir, 'topology') };
    case 'approvals':
      return { HOLDPOINT_GRANT_KEY_FILE: files.grantKey, HOLDPOINT_PRINCIPALS_FILE: files.principals };
    case 'executor':
      return {
        HOLDPOINT_WORKSPACE: workspace,
        ...(journal !== undefined && { HOLDPOINT_JOURNAL_DIR: journal }),
        ...(state !== undefined && { HOLDPOINT_STATE_DIR: state }),
        ...(repositories !== undefined && { HOLDPOINT_REPOSITORIES: repositories }),
        ...(hidden.length > 0 && { HOLDPOINT_WORK_HIDDEN: hidden.join(delimiter) }),
      };
    case 'recovery':
      return {};
  }
};

/** The whole configuration of services that run in one process. The settings that differ name the service. */
export const processEnvironment = (
  services: readonly ServiceName[],
  context: ServiceContext,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => {
  const each = services.map((service) => serviceEnvironment(service, context, env));
  if (each.length === 1) return each[0] ?? {};
  const differ = [
    'HOLDPOINT_NATS_SEED_FILE',
    'HOLDPOINT_DATABASE_URL',
    'HOLDPOINT_DATABASE_PASSWORD_FILE',
  ] as const;
  const [first = 'orchestrator'] = services;
  const common = differ.map((name) => [name, each[0]?.[name]?.replaceAll(first, '{service}')] as const);
  return {
    ...each.reduce((all, next) => ({ ...all, ...next }), {}),
    ...Object.fromEntries(common),
    HOLDPOINT_SERVICES: services.join(','),
  };
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
    HOLDPOINT_NATS_SEED_FILE: natsLoginFile(credentialsDir, service),
    HOLDPOINT_DATABASE_URL: `postgres://${roleOf(service)}@${database.host}:${database.port}/${database.name}`,
    HOLDPOINT_DATABASE_PASSWORD_FILE: files.postgresPassword(roleOf(service)),
    HOLDPOINT_TRUST_FILE: files.trust,
    HOLDPOINT_HTTP_HOST: '127.0.0.1',
    HOLDPOINT_HTTP_PORT: String(httpPort),
    ...specific(service, context),
    // One executor serves all pools by default.
    ...(service === 'executor' && {
      HOLDPOINT_EXECUTOR_POOLS:
        env['HOLDPOINT_EXECUTOR_POOLS'] || env['HOLDPOINT_DEPLOYMENT_POOLS'] || 'default',
    }),
  };
};
