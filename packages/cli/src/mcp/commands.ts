import { AgentName } from '@holdpoint/contracts/values/agent';
import { type Command, InvalidArgumentError } from 'commander';
import { as, collect } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const HOST = '127.0.0.1';
const PORT = 7_461;
const PORT_MAX = 65_535;

const asPort = (text: string): number => {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= PORT_MAX) return port;
  throw new InvalidArgumentError(`expected a port from 0 to ${String(PORT_MAX)}`);
};

const asOrigin = (text: string, before?: readonly string[]): readonly string[] => {
  if (URL.canParse(text) && new URL(text).origin === text) return collect(text, before);
  throw new InvalidArgumentError('expected an origin such as https://agents.example');
};

type Options = {
  readonly agent: string;
  readonly http?: true;
  readonly host: string;
  readonly port: number;
  readonly origin?: readonly string[];
};

export const addMcp = (program: Command, { use, lines }: Session): void => {
  withExample(
    program
      .command('mcp')
      .description('serve agents over the Model Context Protocol, on standard input and output or HTTP')
      .option('--agent <name>', 'name of the agent, unless its token names one', as(AgentName), 'mcp')
      .option('--http', 'serve Streamable HTTP; each request carries its own token')
      .option('--host <host>', 'address to listen on, with --http', HOST)
      .option('--port <port>', 'port to listen on, with --http; 0 chooses a free port', asPort, PORT)
      .option('--origin <origin>', 'allow requests from this web origin, with --http (repeatable)', asOrigin)
      .action(({ agent, http, host, port, origin = [] }: Options) =>
        use(async (client) => {
          // Loaded on demand: the library is large, and no other command needs it.
          if (http !== true) {
            const { serveStdio } = await import('./stdio.ts');
            await serveStdio(client, { agent, owner: client.userName ?? 'unknown' });
            return undefined;
          }
          const { serveHttp } = await import('./http.ts');
          const { url } = await serveHttp(client, agent, { host, port, origins: origin });
          lines([`serving agents at ${url}`]);
          // Runs until the process ends.
          return new Promise<never>(() => undefined);
        }),
      ),
    'mcp --agent claude',
    'mcp --http --port 7461',
  );
};
