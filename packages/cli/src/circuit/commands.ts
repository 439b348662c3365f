import { TargetName } from '@holdpoint/contracts/recovery/circuit';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { allCircuits, circuitLine, circuitLines } from './text.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const LIST = 'list the circuit breakers of targets and workflows';

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
      .argument('<target>', 'target, as listed', as(TargetName))
      .option('--reason <text>', 'reason, kept in the record')
      .option('--json', 'print the API response as JSON')
      .action((target: string, options: { reason?: string; json?: true }) =>
        use(async (client) => {
          const { reason } = options;
          const circuit = await client.call('recovery', 'circuit', {
            target,
            state,
            ...(reason !== undefined && { reason }),
          });
          if (options.json) json(circuit);
          else lines([circuitLine(circuit)]);
          return undefined;
        }),
      ),
    ...examples,
  );
};

const CLOSING = 'close a circuit: allow effects on the target, or tasks of the workflow, again';

export const addCircuit = (program: Command, session: Session): void => {
  const circuit = withExample(
    program
      .command('circuit')
      .alias('circuits')
      .description('list, open and close circuit breakers of targets and workflows'),
    'circuit list',
  );
  withExample(
    circuit
      .command('list')
      .description(LIST)
      .option('--json', 'print the circuits as JSON')
      .action(listing(session)),
    'circuit list',
  );
  addSetting(
    circuit,
    session,
    {
      name: 'open',
      state: 'open',
      description:
        'open a circuit: block effects on the target, or tasks of the workflow, until you close it',
    },
    'circuit open https://api.example --reason "they move tonight"',
  );
  addSetting(
    circuit,
    session,
    { name: 'close', state: 'closed', description: CLOSING },
    'circuit close https://api.example',
  );
};
