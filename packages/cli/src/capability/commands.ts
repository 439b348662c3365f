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

const capabilityLines = (view: CapabilityView): readonly string[] => [
  `${view.uses}: ${view.effectClass}, ${view.kind ?? 'an effect of any kind'}${view.work ? ', or work' : ''}`,
  `optional operations: ${operationsOf(view)}`,
];

export const addCapability = (program: Command, { use, lines, json }: Session): void => {
  const capability = withExample(
    program
      .command('capability')
      .alias('capabilities')
      .description('list and show the capabilities of the executor'),
    'capability list',
  );
  withExample(
    capability
      .command('list')
      .alias('show')
      .description('list capabilities: label, effect class, kind, use, optional operations; or show one')
      .argument('[label]', 'show this capability and its arguments', as(CapabilityLabel))
      .option('--json', 'print the API response as JSON')
      .action((uses: string | undefined, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'capabilities', { ...(uses && { uses }) });
          const [view] = answer.items;
          if (options.json || (uses !== undefined && view === undefined)) json(answer);
          else if (uses === undefined || view === undefined)
            lines(listing(['Capability', 'Class', 'Kind', 'Use', 'Operations'], answer.items.map(rowOf)));
          else {
            lines(capabilityLines(view));
            if (view.input !== undefined) json(view.input);
          }
          return undefined;
        }),
      ),
    'capability list',
    'capability list cap.env.shell.command.run',
  );
};
