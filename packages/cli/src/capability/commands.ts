import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import { CapabilityLabel } from '@holdpoint/contracts/workflow/workflow';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { listing } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const OPERATIONS = ['preview', 'probe', 'compensate'] as const;

const operationsOf = (view: CapabilityView): string =>
  OPERATIONS.filter((operation) => view[operation]).join(' ') || '-';

const rowOf = (view: CapabilityView): readonly string[] => [
  view.uses,
  view.effectClass,
  view.kind ?? 'any kind',
  view.work ? 'work' : 'effect',
  operationsOf(view),
];

const addList = (capability: Command, { use, lines, json }: Session): void => {
  withExample(
    capability
      .command('list')
      .description('list capabilities: label, effect class, kind, effect or work, optional operations')
      .option('--json', 'print the API response as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'capabilities', {});
          if (options.json) json(answer);
          else lines(listing(['Capability', 'Class', 'Kind', 'Use', 'Operations'], answer.items.map(rowOf)));
          return undefined;
        }),
      ),
    'capability list',
  );
};

const addShow = (capability: Command, { use, lines, json }: Session): void => {
  withExample(
    capability
      .command('show')
      .description('show a capability and its arguments')
      .argument('<label>', 'capability label, such as cap.http.request', as(CapabilityLabel))
      .option('--json', 'print the API response as JSON')
      .action((uses: string, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'capabilities', { uses });
          const [view] = answer.items;
          if (options.json || view === undefined) {
            json(answer);
            return undefined;
          }
          lines([
            `${view.uses}: ${view.effectClass}, ${view.kind ?? 'an effect of any kind'}${view.work ? ', or work' : ''}`,
            `optional operations: ${operationsOf(view)}`,
          ]);
          if (view.input !== undefined) json(view.input);
          return undefined;
        }),
      ),
    'capability show cap.env.shell.command.run',
  );
};

export const addCapability = (program: Command, session: Session): void => {
  const capability = withExample(
    program
      .command('capability')
      .alias('capabilities')
      .description('list and show the capabilities of the executor'),
    'capability list',
  );
  addList(capability, session);
  addShow(capability, session);
};
