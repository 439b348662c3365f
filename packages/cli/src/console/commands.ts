import { type Command, InvalidArgumentError } from 'commander';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { instant } from '../output/columns.ts';
import { consoleLink } from './link.ts';

const asAddress = (text: string): string => {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new InvalidArgumentError('expected an address such as https://holdpoint.example/');
};

export const addConsole = (program: Command, { use, lines, warn, json, terminal }: Session): void => {
  withExample(
    program
      .command('console')
      .description('print a link that signs you in to the console once, within five minutes')
      .option('--url <address>', 'address of the console (default: that of the local start)', asAddress)
      .option('--json', 'print the link and its expiry as JSON')
      .action((options: { url?: string; json?: true }) =>
        use(async (client) => {
          const address = options.url ?? client.consoleUrl;
          if (address === undefined)
            throw new UsageError('--url is missing: the address of the console, as in your browser');
          const link = await consoleLink(client, address);
          if (options.json) json(link);
          else lines([link.url]);
          const until = link.expiresAt === undefined ? '' : `, until ${instant(link.expiresAt)}`;
          if (!options.json && terminal() !== undefined) warn(`Opens one session${until}. Do not share it.`);
          return undefined;
        }),
      ),
    'console',
    'console --url https://holdpoint.example/',
  );
};
