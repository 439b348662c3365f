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
  throw new InvalidArgumentError(`a port from 0 to ${String(PORT_MAX)}`);
};

const asOrigin = (text: string, before?: readonly string[]): readonly string[] => {
  if (URL.canParse(text) && new URL(text).origin === text) return collect(text, before);
  throw new InvalidArgumentError('an origin such as https://agents.example');
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
      .description('serve agents by the Model Context Protocol: over standard input and output, or HTTP')
      .option('--agent <name>', 'what the agent is called, unless its token says so', as(AgentName), 'mcp')
      .option('--http', 'over Streamable HTTP: each request shows its own token')
      .option('--host <host>', 'with --http: where to listen', HOST)
      .option('--port <port>', 'with --http: where to listen; 0 for any', asPort, PORT)
      .option('--origin <origin>', 'with --http: pages of this origin may ask (repeatable)', asOrigin)
      .action(({ agent, http, host, port, origin = [] }: Options) =>
        use(async (client) => {
          // Only here: the library is large, and no other command needs it.
          if (http !== true) {
            const { serveStdio } = await import('./stdio.ts');
            await serveStdio(client, { agent, owner: client.userName ?? 'unknown' });
            return undefined;
          }
          const { serveHttp } = await import('./http.ts');
          const { url } = await serveHttp(client, agent, { host, port, origins: origin });
          lines([`agents are served at ${url}`]);
          // Until this program is ended.
          return new Promise<never>(() => undefined);
        }),
      ),
    'mcp --agent claude',
    'mcp --http --port 7461',
  );
};
