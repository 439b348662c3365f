import type { Command } from 'commander';
import { hostOf, type NatsExport } from '../host/commands.ts';
import { collect, oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';

const FORMS = ['config', 'jwt'] as const satisfies readonly NatsExport['as'][];
const REPLICAS = ['1', '3', '5'] as const;

type Options = Omit<NatsExport, 'streamReplicas' | 'guests'> & {
  readonly streamReplicas: (typeof REPLICAS)[number];
  readonly guest?: readonly string[];
};

export const addNats = (program: Command, session: Session): void => {
  const nats = withExample(
    program.command('nats').description('use a NATS that exists'),
    'nats export --as jwt --out nats-export',
  );
  withExample(
    nats
      .command('export')
      .description('write the accounts, users and permissions of Holdpoint for the administrator of NATS')
      .requiredOption('--as <form>', 'config (server configuration) or jwt (operator mode)', oneOf(FORMS))
      .requiredOption('--out <folder>', 'folder for the files; none of them is secret')
      .option(
        '--credentials <folder>',
        'folder of the credentials, completed if incomplete',
        '.holdpoint/data/credentials',
      )
      .option('--name <name>', 'prefix of the account names', 'HOLDPOINT')
      .option('--pools <names>', 'pools of executors, comma-separated', 'default')
      .option(
        '--stream-replicas <number>',
        `replicas of each stream: ${REPLICAS.join(', ')}`,
        oneOf(REPLICAS),
        '1',
      )
      .option(
        '--guest <account=prefix>',
        'account of others whose users submit, ask and watch on subjects with this prefix (repeatable)',
        collect,
      )
      .option(
        '--operator-seed <file>',
        'sign the account JWTs with this seed of the operator; without it they sign themselves',
      )
      .action(async ({ streamReplicas, guest = [], ...options }: Options) => {
        const lines = await hostOf(session)
          .exportNats({ ...options, streamReplicas: Number(streamReplicas), guests: guest })
          .catch((error: unknown) => {
            const reason = error instanceof Error ? error.message : String(error);
            throw new Refusal('CLI_NATS_EXPORT', reason, { cause: error });
          });
        return session.local(() => {
          session.lines(lines);
          return undefined;
        });
      }),
    'nats export --as jwt --out nats-export',
    'nats export --as config --out nats-export --guest ACME=acme',
  );
};
