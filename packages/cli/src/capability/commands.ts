import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import { CapabilityLabel } from '@holdpoint/contracts/workflow/workflow';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { columns } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const ABLE = ['preview', 'probe', 'compensate'] as const;

const ableTo = (view: CapabilityView): string => ABLE.filter((able) => view[able]).join(' ') || '-';

const rowOf = (view: CapabilityView): readonly string[] => [
  view.uses,
  view.effectClass,
  view.kind ?? 'any kind',
  view.work ? 'work' : 'effect',
  ableTo(view),
];

const addList = (capabilities: Command, { use, lines, json }: Session): void => {
  withExample(
    capabilities
      .command('list')
      .description(
        'list what the executor carries out: label, class, kind, whether it may be work, what else it can do',
      )
      .option('--json', 'print the answer as it came')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'capabilities', {});
          if (options.json) json(answer);
          else lines(columns(answer.items.map(rowOf)));
          return undefined;
        }),
      ),
    'capabilities list',
  );
};

const addShow = (capabilities: Command, { use, lines, json }: Session): void => {
  withExample(
    capabilities
      .command('show')
      .description('show one capability, and which arguments it takes')
      .argument('<label>', 'such as cap.http.request', as(CapabilityLabel))
      .option('--json', 'print the answer as it came')
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
            `besides running it can: ${ableTo(view)}`,
          ]);
          if (view.input !== undefined) json(view.input);
          return undefined;
        }),
      ),
    'capabilities show cap.env.shell.command.run',
  );
};

export const addCapabilities = (program: Command, session: Session): void => {
  const capabilities = withExample(
    program.command('capabilities').description('see what the executor can carry out'),
    'capabilities list',
  );
  addList(capabilities, session);
  addShow(capabilities, session);
};
