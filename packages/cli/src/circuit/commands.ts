import { TargetName } from '@holdpoint/contracts/recovery/circuit';
import type { Command } from 'commander';
import { as, oneOf } from '../kit/arguments.ts';
import { allCircuits, circuitLine, circuitLines } from './text.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const LIST = 'list the targets and workflows that fail, or have failed';

const listing =
  ({ use, lines, json }: Session) =>
  (options: { json?: true }): Promise<void> =>
    use(async (client) => {
      const items = await allCircuits(client);
      if (options.json) json({ items });
      else lines(circuitLines(items));
      return undefined;
    });

const addSetting = (
  group: Command,
  { use, lines, json }: Session,
  { name, state, description }: { name: string; state: 'open' | 'closed'; description: string },
  ...examples: readonly string[]
): void => {
  withExample(
    group
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
          else lines([circuitLine(circuit)]);
          return undefined;
        }),
      ),
    ...examples,
  );
};

const CLOSING = 'let orders for a target, or tasks of a workflow, begin again';

/** The same by the names that it has among the commands of recovery. */
export const addCircuitsOfRecovery = (recovery: Command, session: Session): void => {
  withExample(
    recovery
      .command('circuits')
      .description(LIST)
      .argument('[list]', 'may be left out', oneOf(['list']))
      .option('--json', 'print them as JSON')
      .action((_: string | undefined, options: { json?: true }) => listing(session)(options)),
    'recovery circuits',
  );
  const reset = { name: 'reset', state: 'closed', description: `${CLOSING}: as circuits close` } as const;
  addSetting(
    recovery,
    session,
    reset,
    'recovery reset https://api.example',
    'recovery reset workflow:release',
  );
};

export const addCircuits = (program: Command, session: Session): void => {
  const circuits = withExample(
    program
      .command('circuits')
      .description('see and steer which targets nothing is sent to, and which workflows do not start'),
    'circuits list',
  );
  withExample(
    circuits
      .command('list')
      .description(LIST)
      .option('--json', 'print them as JSON')
      .action(listing(session)),
    'circuits list',
  );
  addSetting(
    circuits,
    session,
    {
      name: 'open',
      state: 'open',
      description:
        'send nothing to a target, or start nothing of a workflow, until somebody closes its circuit',
    },
    'circuits open https://api.example --reason "they move tonight"',
  );
  addSetting(
    circuits,
    session,
    { name: 'close', state: 'closed', description: CLOSING },
    'circuits close https://api.example',
  );
};
