import { ApprovalStatus, type Verb } from '@holdpoint/contracts/approval';
import { Digest, DoubtAnswer } from '@holdpoint/contracts/effect';
import { ApprovalId } from '@holdpoint/contracts/ids';
import type { Command } from 'commander';
import { approvalListText, approvalText } from '../approval-text.ts';
import { watchApprovals } from '../approval-watch.ts';
import { as, oneOf, wholeNumber } from '../arguments.ts';
import { begunAt } from '../begun.ts';
import { decidedText, decideOn } from '../decisions.ts';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';

const LIST_MAX = 500;

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
          const answer = await decideOn(client, { ...asked, id }, verb, { comment, digest });
          if (asJson) json(answer);
          else lines(decidedText(asked, answer, answer.status.replace('_', ' ')));
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
          else lines(approvalText(answer, now(), await begunAt(client, answer)));
          return undefined;
        }),
      ),
    'approvals show a-7h2k9m1x4c',
  );
};

const addAnswer = (approvals: Command, { use, lines, json }: Session): void => {
  withExample(
    approvals
      .command('answer')
      .description('say what became of an effect that nobody can be sure of')
      .argument('<id>', 'id of the question', as(ApprovalId))
      .argument('<answer>', DoubtAnswer.options.join(', '), oneOf(DoubtAnswer.options))
      .option('--comment <text>', 'how you know, for the record')
      .option('--json', 'print the answer as it came')
      .action((id: ApprovalId, answer: DoubtAnswer, { comment, json: asJson }: Decision) =>
        use(async (client) => {
          const asked = await client.call('approvals', 'get', { id });
          const decided = await decideOn(client, { ...asked, id }, answer, { comment });
          if (asJson) json(decided);
          else lines(decidedText(asked, decided, `answered with ${answer}`));
          return undefined;
        }),
      ),
    'approvals answer a-7h2k9m1x4c applied --comment "the order is there"',
  );
};

const addWatch = (approvals: Command, session: Session): void => {
  withExample(
    approvals
      .command('watch')
      .description('show what waits for a decision as it comes, and ask for it on a terminal')
      .option('--once', 'end when everything that waits by now has been shown')
      .action(({ once = false }: { once?: boolean }) =>
        session.use(async (client) => {
          await watchApprovals(client, session, once);
          return undefined;
        }),
      ),
    'approvals watch',
  );
};

export const addApprovals = (program: Command, session: Session): void => {
  const approvals = withExample(
    program.command('approvals').description('see and decide what waits at a gate'),
    'approvals list',
  );
  addReading(approvals, session);
  for (const verb of VERBS) addVerb(approvals, session, verb);
  addAnswer(approvals, session);
  addWatch(approvals, session);
};
