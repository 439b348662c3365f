import { ApprovalStatus, type DecideApproval, type Verb } from '@holdpoint/contracts/approval';
import { Digest } from '@holdpoint/contracts/effect';
import { HoldpointError } from '@holdpoint/contracts/errors';
import { ApprovalId } from '@holdpoint/contracts/ids';
import type { Command } from 'commander';
import { approvalListText, approvalText, decisionText } from '../approval-text.ts';
import { as, wholeNumber } from '../arguments.ts';
import type { Client } from '../client.ts';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';
import { effectLine } from '../event-text.ts';

const LIST_MAX = 500;

/** A decision that came too late is answered with the one that stands. */
const withWhatStands = async (client: Client, id: ApprovalId, error: unknown): Promise<never> => {
  if (!(error instanceof HoldpointError) || error.code !== 'APPROVALS_ALREADY_DECIDED') throw error;
  const settled = await client.call('approvals', 'get', { id });
  throw new HoldpointError(error.code, `${id} is already ${decisionText(settled)}`, { cause: error });
};

const decide = (client: Client, decision: DecideApproval) =>
  client
    .call('approvals', 'decide', decision)
    .catch((error: unknown) => withWhatStands(client, decision.id, error));

const VERBS: readonly (readonly [name: string, verb: Verb, description: string])[] = [
  ['approve', 'approve', 'let exactly this effect run'],
  ['reject', 'reject', 'refuse this effect'],
];

type Decision = { readonly comment?: string; readonly digest?: string; readonly json?: true };

const addVerb = (
  approvals: Command,
  { use, lines, json }: Session,
  [name, verb, description]: (typeof VERBS)[number],
): void => {
  withExample(
    approvals
      .command(name)
      .description(description)
      .argument('<id>', 'id of the approval', as(ApprovalId))
      .option('--comment <text>', 'why, for the record')
      .option('--digest <sha256>', 'decide only if the effect still has this digest', as(Digest))
      .option('--json', 'print the answer as it came')
      .action((id: ApprovalId, { comment, digest, json: asJson }: Decision) =>
        use(async (client) => {
          const asked = await client.call('approvals', 'get', { id });
          // Bound to what is shown here: an effect that is edited in between is not approved by mistake.
          const request = {
            id,
            decision: verb,
            digest: digest ?? asked.digest,
            ...(comment !== undefined && { comment }),
          };
          const answer = await decide(client, request);
          if (asJson) json(answer);
          else {
            const decided = `${answer.id} is ${answer.status.replace('_', ' ')} by ${answer.by}`;
            lines([decided, `  ${asked.task}/${asked.node}: ${effectLine(asked.effect)}`]);
          }
          return undefined;
        }),
      ),
    `approvals ${name} a-7h2k9m1x4c --comment "I looked at it"`,
  );
};

type Page = {
  readonly status?: ApprovalStatus;
  readonly limit?: number;
  readonly after?: string;
  readonly json?: true;
};

const addReading = (approvals: Command, { use, lines, json, now }: Session): void => {
  withExample(
    approvals
      .command('list')
      .description('list what waits for a decision, oldest first')
      .option(
        '--status <status>',
        `${ApprovalStatus.options.join(', ')} (default: pending)`,
        as(ApprovalStatus),
      )
      .option('--limit <number>', 'how many', wholeNumber(LIST_MAX))
      .option('--after <place>', 'go on where an earlier list ended')
      .option('--json', 'print the answer as it came')
      .action(({ json: asJson, ...page }: Page) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'list', page);
          if (asJson) json(answer);
          else lines(approvalListText(answer, now()));
          return undefined;
        }),
      ),
    'approvals list --status rejected',
  );
  withExample(
    approvals
      .command('show')
      .description('show one approval with the exact effect')
      .argument('<id>', 'id of the approval', as(ApprovalId))
      .option('--json', 'print the answer as it came')
      .action((id: ApprovalId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'get', { id });
          if (options.json) json(answer);
          else lines(approvalText(answer, now()));
          return undefined;
        }),
      ),
    'approvals show a-7h2k9m1x4c',
  );
};

export const addApprovals = (program: Command, session: Session): void => {
  const approvals = withExample(
    program.command('approvals').description('see and decide what waits at a gate'),
    'approvals list',
  );
  addReading(approvals, session);
  for (const verb of VERBS) addVerb(approvals, session, verb);
};
