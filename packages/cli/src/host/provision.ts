import { ConfigError } from '@holdpoint/contracts/values/settings';
import type { Command } from 'commander';
import { oneOf, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { hostOf, type KeyStep, type NatsServerOptions } from './commands.ts';

const STEPS = ['add', 'use', 'retire'] as const satisfies readonly KeyStep['step'][];
const KEYS = ['approvals', 'orchestrator', 'recovery'] as const satisfies readonly KeyStep['service'][];
const SYNCS = ['periodic', 'always'] as const satisfies readonly NatsServerOptions['sync'][];
const REPLICAS = ['1', '3', '5'] as const;
const PORT_MAX = 65_535;

const port = wholeNumber(PORT_MAX);
const list = (text: string): readonly string[] => text.split(',').filter((each) => each !== '');

/** Prints the text of a part of the host. Its failure is one line, and a wrong setting ends as in a service. */
const print = async (session: Session, making: Promise<string>): Promise<void> => {
  const text = await making.catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal('CLI_PROVISION', reason, { cause: error });
  });
  return session.local(() => {
    session.verbatim(`${text.trimEnd()}\n`);
    return undefined;
  });
};

const addCredentials = (provision: Command, session: Session): void => {
  withExample(
    provision
      .command('credentials')
      .description('make the missing files of a credentials folder, or take a step with a key in it')
      .argument('<folder>', 'credentials folder; existing files stay unchanged')
      .option('--rotate <step>', `step of a new key: ${STEPS.join(', ')}`, oneOf(STEPS))
      .option('--key <service>', `service of the key, approvals by default: ${KEYS.join(', ')}`, oneOf(KEYS))
      .option('--early', 'with --rotate retire: retire a key although its grants may be in use')
      .action(
        (
          folder: string,
          options: {
            readonly rotate?: KeyStep['step'];
            readonly key?: KeyStep['service'];
            readonly early?: true;
          },
        ) => {
          const { credentials, rotate } = hostOf(session).provision;
          const { rotate: step, key, early = false } = options;
          if (early && step !== 'retire')
            throw new Refusal('CLI_PROVISION', 'only --rotate retire takes --early; no key was retired');
          if (key !== undefined && step === undefined)
            throw new Refusal('CLI_PROVISION', '--key needs a step: add --rotate <step>');
          return print(
            session,
            step === undefined
              ? credentials(folder)
              : rotate(folder, { step, service: key ?? 'approvals', early }),
          );
        },
      ),
    'provision credentials /etc/holdpoint/credentials',
    'provision credentials /etc/holdpoint/credentials --rotate add --key orchestrator',
  );
};

const addNatsServer = (provision: Command, session: Session): void => {
  withExample(
    provision
      .command('nats')
      .description('print the configuration of a nats-server; it contains public keys only')
      .requiredOption('--credentials <folder>', 'credentials folder')
      .option('--host <address>', 'listen address', '0.0.0.0')
      .option('--port <number>', 'port for clients', port, 4222)
      .option('--monitor-port <number>', 'port of the monitoring, which has no access control', port)
      .option('--store <folder>', 'folder of the streams', '/data/jetstream')
      .option(
        '--sync <when>',
        'when the server syncs to disk: periodic, or always, before each acknowledgement',
        oneOf(SYNCS),
        'periodic',
      )
      .option('--pools <names>', 'pools of executors, comma-separated', 'default')
      .option('--server-name <name>', 'name of this server in a cluster')
      .option('--cluster-name <name>', 'name of the cluster')
      .option('--cluster-port <number>', 'port for the other servers of the cluster', port, 6222)
      .option('--routes <urls>', 'all servers of the cluster, comma-separated', list, [])
      .option(
        '--stream-replicas <number>',
        `replicas of each stream: ${REPLICAS.join(', ')}`,
        oneOf(REPLICAS),
        '1',
      )
      .action(
        ({
          streamReplicas,
          ...options
        }: Omit<NatsServerOptions, 'streamReplicas'> & {
          readonly streamReplicas: (typeof REPLICAS)[number];
        }) =>
          print(
            session,
            hostOf(session).provision.nats({ ...options, streamReplicas: Number(streamReplicas) }),
          ),
      ),
    'provision nats --credentials /etc/holdpoint/credentials --sync always',
  );
};

const addDatabase = (provision: Command, session: Session): void => {
  withExample(
    provision
      .command('postgres')
      .description(
        'make or update roles, database and schemas, as HOLDPOINT_ADMIN_DATABASE_URL, with the passwords in HOLDPOINT_CREDENTIALS; exit code 78 on a wrong setting',
      )
      .action(() => print(session, hostOf(session).provision.postgres())),
    'provision postgres',
  );
};

export const addProvision = (program: Command, session: Session): void => {
  const provision = withExample(
    program
      .command('provision')
      .description('prepare credentials, NATS and PostgreSQL for `holdpoint serve`'),
    'provision credentials /etc/holdpoint/credentials',
  );
  addCredentials(provision, session);
  addNatsServer(provision, session);
  addDatabase(provision, session);
};
