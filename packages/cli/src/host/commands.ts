import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';

const SERVABLE = [...SERVICES, 'core', 'all'] as const;

/** What `holdpoint nats export` writes, and where. */
export type NatsExport = {
  /** An accounts block with nkeys, or JWTs of operator mode. */
  readonly as: 'config' | 'jwt';
  readonly out: string;
  /** The credentials folder. Missing credentials are made. */
  readonly credentials: string;
  /** Stands before each account name. */
  readonly name: string;
  readonly pools: string;
  readonly streamReplicas: number;
  /** `<account>=<prefix>` each. */
  readonly guests: readonly string[];
  readonly operatorSeed?: string | undefined;
};

/** The configuration of one nats-server. */
export type NatsServerOptions = {
  /** The credentials folder, for its public keys. */
  readonly credentials: string;
  readonly host: string;
  readonly port: number;
  readonly monitorPort?: number | undefined;
  readonly store: string;
  readonly sync: 'periodic' | 'always';
  readonly pools: string;
  readonly serverName?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly clusterPort: number;
  readonly routes: readonly string[];
  readonly streamReplicas: number;
};

/** A step with the key of a service. */
export type KeyStep = {
  readonly step: 'add' | 'use' | 'retire';
  readonly service: 'approvals' | 'orchestrator' | 'recovery';
  /** Retires a key whose grants may be in use. */
  readonly early: boolean;
};

/** Prepares a deployment. Each part returns the text to print. */
export type Provision = {
  readonly credentials: (folder: string) => Promise<string>;
  readonly rotate: (folder: string, step: KeyStep) => Promise<string>;
  readonly nats: (options: NatsServerOptions) => Promise<string>;
  /** Takes its settings from the environment. Throws `ConfigError`. */
  readonly postgres: () => Promise<string>;
};

/** Runs the servers and services of Holdpoint. The command line alone has none. */
export type Host = {
  /** Starts everything in the current directory. Ends with the process. */
  readonly dev: (options: { readonly sample: boolean }) => Promise<number>;
  /** Runs services from their settings; without names those of `HOLDPOINT_SERVICES`. Ends with the process. */
  readonly serve: (services: readonly string[]) => Promise<void>;
  /** Writes files for the administrator of NATS. Returns the lines to print. */
  readonly exportNats: (options: NatsExport) => Promise<readonly string[]>;
  readonly provision: Provision;
  /** The migrations of this release, oldest first. */
  readonly migrations: (service: ServiceName) => readonly string[];
};

export const hostOf = ({ host }: Session): Host => {
  if (host !== undefined) return host;
  throw new Refusal(
    'CLI_WITHOUT_SERVICES',
    'this command line has no services: install holdpoint, or use `npm start`',
  );
};

export const addHost = (program: Command, session: Session): void => {
  withExample(
    program
      .command('dev')
      .description('start PostgreSQL, NATS and all services in this directory')
      .option('--no-sample', 'submit no sample task')
      .action(async (options: { readonly sample: boolean }) => {
        const code = await hostOf(session).dev(options);
        return session.local(() => code);
      }),
    'dev --no-sample',
  );
  withExample(
    program
      .command('serve')
      .description('run services from their settings, in one process')
      .argument(
        '[services...]',
        `${SERVICES.join(', ')}, core (all but the executor) or all; HOLDPOINT_SERVICES by default`,
        (names: string, before: readonly string[]) => [...before, ...names.split(',').map(oneOf(SERVABLE))],
        [],
      )
      .action((services: readonly string[]) => hostOf(session).serve(services)),
    'serve core',
    'serve executor',
  );
};
