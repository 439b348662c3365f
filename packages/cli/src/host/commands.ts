import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';

/** Runs the servers and services of Holdpoint. The command line alone has none. */
export type Host = {
  /** Starts everything in the current directory. Ends with the process. */
  readonly dev: (options: { readonly sample: boolean }) => Promise<number>;
  /** Runs one service from its settings. Ends with the process. */
  readonly serve: (service: ServiceName) => Promise<void>;
};

const hostOf = ({ host }: Session): Host => {
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
      .description('run one service from its settings')
      .argument('<service>', SERVICES.join(', '), oneOf(SERVICES))
      .action((service: ServiceName) => hostOf(session).serve(service)),
    'serve orchestrator',
  );
};
