import { type CircuitView, TargetName } from '@holdpoint/contracts/circuit';
import type { Command } from 'commander';
import { as } from '../arguments.ts';
import type { Client } from '../client.ts';
import { columns } from '../columns.ts';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';

const NAMES = { open: 'open', half_open: 'half open', closed: 'closed' } as const;

const next = ({ state, until, executor }: CircuitView): string => {
  if (state === 'closed') return '';
  if (state === 'half_open')
    return executor === undefined ? 'until an order tries it' : `${executor} tries it`;
  return until === undefined ? 'until a person closes it' : `until ${new Date(until).toISOString()}`;
};

const lineOf = (circuit: CircuitView): readonly string[] => [
  circuit.target,
  NAMES[circuit.state],
  next(circuit),
  `${circuit.by}${circuit.reason === undefined ? '' : `: ${circuit.reason}`}`,
];

/** Far more than there are targets; what is beyond is not asked for. */
const PAGES_MAX = 20;

const allCircuits = async (client: Client): Promise<readonly CircuitView[]> => {
  const all: CircuitView[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await client.call('recovery', 'circuits', {
      limit: 500,
      ...(after !== undefined && { after }),
    });
    all.push(...answer.items);
    after = answer.next;
    if (after === undefined) break;
  }
  return all;
};

export const addCircuits = (program: Command, { use, lines, json }: Session): void => {
  const circuits = withExample(
    program.command('circuits').description('see and steer which outside targets nothing is sent to'),
    'circuits list',
  );
  withExample(
    circuits
      .command('list')
      .description('list the targets that fail, or have failed')
      .option('--json', 'print them as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const items = await allCircuits(client);
          if (options.json) json({ items });
          else if (items.length === 0) lines(['no circuits: no target has failed']);
          else lines(columns(items.map(lineOf)));
          return undefined;
        }),
      ),
    'circuits list',
  );

  const set = (name: 'open' | 'close', state: 'open' | 'closed', description: string): void => {
    withExample(
      circuits
        .command(name)
        .description(description)
        .argument('<target>', 'the target, as the list has it', as(TargetName))
        .option('--reason <text>', 'why, for whoever looks later')
        .option('--by <name>', 'who does it')
        .option('--json', 'print the answer as it came')
        .action((target: string, options: { reason?: string; by?: string; json?: true }) =>
          use(async (client) => {
            const { reason, by } = options;
            const circuit = await client.call('recovery', 'circuit', {
              target,
              state,
              ...(reason !== undefined && { reason }),
              ...(by !== undefined && { by }),
            });
            if (options.json) json(circuit);
            else lines([`${circuit.target} is ${NAMES[circuit.state]}`]);
            return undefined;
          }),
        ),
      `circuits ${name} https://api.example${name === 'open' ? ' --reason "they move tonight"' : ''}`,
    );
  };
  set('open', 'open', 'send nothing to a target until somebody closes its circuit');
  set('close', 'closed', 'let orders for a target begin again');
};
