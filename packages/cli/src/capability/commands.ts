import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { remoteLabelOf, remoteNameIn, RemoteName } from '@holdpoint/contracts/effect/remote-name';
import { CapabilityLabel } from '@holdpoint/contracts/workflow/workflow';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { everyPage } from '../bus/every-page.ts';
import { listing } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addRegister, addWithdraw, operationsOf, remoteRow, remoteText } from './remote.ts';

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

/** A label, or the name of a registered capability. */
const labelIn = (text: string): string =>
  RemoteName.safeParse(text).success ? remoteLabelOf(text) : as(CapabilityLabel)(text);

const HEADER = ['Capability', 'Class', 'Kind', 'Use', 'Operations'];

type Shown = { readonly json?: true };

const showAll = async (client: Client, { lines, json }: Session, options: Shown): Promise<void> => {
  const [answer, remote] = await Promise.all([
    client.call('executor', 'capabilities', {}),
    everyPage(Infinity, (cursor) => client.call('approvals', 'capability_list', cursor)),
  ]);
  if (options.json) json({ ...answer, remote });
  else lines(listing(HEADER, [...answer.items.map(rowOf), ...remote.map(remoteRow)]));
};

const showRemote = async (
  client: Client,
  { lines, json }: Session,
  name: string,
  options: Shown,
): Promise<void> => {
  const {
    items: [found],
  } = await client.call('approvals', 'capability_list', { name });
  if (found === undefined)
    throw new HoldpointError('APPROVALS_UNKNOWN_CAPABILITY', `unknown capability: ${name}`);
  if (options.json) return json(found);
  lines([...remoteText(found), 'arguments']);
  json(found.input);
  if (found.output === undefined) return;
  lines(['outputs']);
  json(found.output);
};

const showOne = async (
  client: Client,
  { lines, json }: Session,
  uses: string,
  options: Shown,
): Promise<void> => {
  const answer = await client.call('executor', 'capabilities', { uses });
  const [view] = answer.items;
  if (options.json || view === undefined) return json(answer);
  lines(capabilityLines(view));
  if (view.input !== undefined) json(view.input);
};

export const addCapability = (program: Command, session: Session): void => {
  const capability = withExample(
    program
      .command('capability')
      .alias('capabilities')
      .description('list, show, register and withdraw capabilities'),
    'capability list',
  );
  withExample(
    capability
      .command('list', { isDefault: true })
      .alias('show')
      .description('list capabilities: label, effect class, kind, use, optional operations; or show one')
      .argument('[label]', 'show this capability, by label or registered name, and its arguments', labelIn)
      .option('--json', 'print the API response as JSON')
      .action((uses: string | undefined, options: Shown) =>
        session.use(async (client) => {
          const name = uses === undefined ? undefined : remoteNameIn(uses);
          if (uses === undefined) await showAll(client, session, options);
          else if (name === undefined) await showOne(client, session, uses, options);
          else await showRemote(client, session, name, options);
          return undefined;
        }),
      ),
    'capability list',
    'capability list cap.env.shell.command.run',
    'capability show refund',
  );
  addRegister(capability, session);
  addWithdraw(capability, session);
};
