import {
  Answer,
  ApprovalStatus,
  type ApprovalView,
  Risk,
  StuckAnswer,
  type Verb,
} from '@holdpoint/contracts/approval/approval';
import { namesOf } from '@holdpoint/contracts/workflow/audience';
import { type ApiRequest, type ApiResponse, ListApprovals } from '@holdpoint/contracts/catalog/catalog';
import { Digest, DoubtAnswer } from '@holdpoint/contracts/effect/effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { Command } from 'commander';
import { type Remember, ruleFrom } from './remember.ts';
import { approvalListText, approvalText } from './text.ts';
import { watchApprovals } from './watch.ts';
import { as, collect, duration, oneOf, wholeNumber } from '../kit/arguments.ts';
import { begunAt } from './begun.ts';
import type { Client } from '../bus/client.ts';
import { answerLine, answerText, decidedText, decideOn } from './decisions.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { addRespond } from './answering.ts';

const LIST_MAX = 500;
const USES_MAX = 1_000;

type Decision = { readonly comment?: string; readonly digest?: string; readonly json?: true };
type Approving = Decision & {
  /** True when no name was given. */
  readonly remember?: string | true;
  readonly expires?: number;
  readonly uses?: number;
  readonly matchTarget?: string;
  readonly matchAnyTarget?: true;
};

const collectIds = (text: string, before: readonly ApprovalId[] = []): readonly ApprovalId[] => [
  ...before,
  as(ApprovalId)(text),
];

/** Undefined when nothing is to be remembered. */
const rememberIn = ({
  remember,
  expires,
  uses,
  matchTarget,
  matchAnyTarget,
}: Approving): Remember | undefined => {
  const says = [expires, uses, matchTarget, matchAnyTarget].some((each) => each !== undefined);
  if (remember === undefined && says)
    throw new UsageError('--expires, --uses, --match-target and --match-any-target go with --remember');
  if (matchTarget !== undefined && matchAnyTarget === true)
    throw new UsageError('either --match-target or --match-any-target');
  return remember === undefined
    ? undefined
    : {
        ...(remember !== true && { name: remember }),
        expiresInMs: expires,
        uses,
        target: matchTarget,
        anyTarget: matchAnyTarget,
      };
};

type Made = { readonly asked: ApprovalView; readonly answer: ApiResponse<'approvals', 'decide'> };

const decideOne = async (
  client: Client,
  id: ApprovalId,
  verb: Verb,
  { comment, digest }: Decision,
  remember: Remember | undefined,
): Promise<Made> => {
  const asked = await client.call('approvals', 'get', { id });
  const answer = await decideOn(client, { ...asked, id }, verb, {
    comment,
    digest,
    ...(remember && { remember: ruleFrom(asked, remember) }),
  });
  return { asked, answer };
};

/** Each on its own, with a line each: what is refused of one keeps back no other. */
const decideEach = async (
  { lines, json }: Session,
  ids: readonly ApprovalId[],
  verb: Verb,
  asJson: boolean,
  decide: (id: ApprovalId) => Promise<Made>,
): Promise<number | undefined> => {
  let code: number | undefined;
  for (const id of ids) {
    try {
      const { answer } = await decide(id);
      if (asJson) json(answer);
      else lines([answerLine(answer, verb)]);
    } catch (error) {
      if (!(error instanceof HoldpointError || error instanceof Refusal)) throw error;
      code = EXIT.failed;
      if (asJson) json({ id, error: { code: error.code, message: error.message } });
      else lines([`${id}: ${error.code}: ${error.message}`]);
    }
  }
  return code;
};

const decideAll =
  (session: Session, verb: Verb) =>
  (ids: readonly ApprovalId[], options: Approving): Promise<void> => {
    const { digest, json: asJson = false } = options;
    const remember = rememberIn(options);
    const [id, ...others] = ids;
    if (others.length > 0 && digest !== undefined)
      throw new UsageError('--digest is of one effect: give one approval with it');
    return session.use(async (client) => {
      const decide = (each: ApprovalId) => decideOne(client, each, verb, options, remember);
      if (id === undefined || others.length > 0) return decideEach(session, ids, verb, asJson, decide);
      const { asked, answer } = await decide(id);
      if (asJson) session.json(answer);
      else session.lines(answerText(asked, answer, verb));
      return undefined;
    });
  };

const verbCommand = (approvals: Command, name: string, description: string): Command =>
  approvals
    .command(name)
    .description(description)
    .argument('<id...>', 'ids of the approvals', collectIds)
    .option('--digest <sha256>', 'decide only if the effect still has this digest', as(Digest))
    .option('--json', 'print the answer as it came, one line for each approval');

const addVerbs = (approvals: Command, session: Session): void => {
  withExample(
    verbCommand(approvals, 'approve', 'let exactly this effect run')
      .option('--comment <text>', 'why, for the record')
      .option('--remember [name]', 'approve the like of it from now on, by a standing rule')
      .option('--expires <time>', 'how long the rule holds (default: 30d)', duration)
      .option('--uses <number>', 'how often the rule may decide', wholeNumber(USES_MAX))
      .option(
        '--match-target <pattern>',
        'the rule is for these targets; * stands for anything (default: the same)',
      )
      .option('--match-any-target', 'the rule is for any target')
      .action(decideAll(session, 'approve')),
    'approvals approve a-7h2k9m1x4c --comment "I looked at it"',
    'approvals approve a-7h2k9m1x4c --remember "chat of the build" --expires 7d --uses 20',
  );
  withExample(
    verbCommand(approvals, 'reject', 'refuse this effect')
      .option('--comment <text>', 'why, for the record')
      .action(decideAll(session, 'reject')),
    'approvals reject a-7h2k9m1x4c --comment "not today"',
  );
  withExample(
    verbCommand(approvals, 'request-changes', 'send it back, with what is to be different')
      .requiredOption('--comment <text>', 'what is to change')
      .action(decideAll(session, 'request_changes')),
    'approvals request-changes a-7h2k9m1x4c --comment "to staging first"',
  );
};

type Whose = { readonly mine?: true; readonly audience?: readonly string[] };
type Page = Omit<ApiRequest<'approvals', 'list'>, 'audience'> & Whose & { readonly json?: true };

const withWhose = (command: Command): Command =>
  command
    .option('--mine', 'only what is put to whoever the token belongs to')
    .option(
      '--audience <name>',
      'only what is put to user:<name>, group:<name>, role:<name>; several may be given',
      collect,
    );

/** The names that are asked for; undefined for everybody's. */
const audienceOf = async (
  client: Client,
  { mine, audience }: Whose,
): Promise<readonly string[] | undefined> => {
  if (mine === undefined) return audience;
  return [...namesOf(await client.call('approvals', 'whoami', {})), ...(audience ?? [])];
};

/** Where little fits, the service may end a page before anything is found. */
const EMPTY_PAGES_MAX = 100;

const listPage = async (
  client: Client,
  asked: ApiRequest<'approvals', 'list'>,
  left = EMPTY_PAGES_MAX,
): Promise<ApiResponse<'approvals', 'list'>> => {
  const page = await client.call('approvals', 'list', asked);
  return page.items.length > 0 || page.next === undefined || left === 0
    ? page
    : listPage(client, { ...asked, after: page.next }, left - 1);
};

const ORDERS = ListApprovals.shape.order.unwrap().options;

const addReading = (approvals: Command, { use, lines, json, now }: Session): void => {
  withExample(
    withWhose(approvals.command('list').description('list what waits for a decision, oldest first'))
      .option(
        '--status <status>',
        `${ApprovalStatus.options.join(', ')} (default: pending)`,
        as(ApprovalStatus),
      )
      .option('--kind <kind>', SideEffectKind.options.join(', '), oneOf(SideEffectKind.options))
      .option('--risk <risk>', Risk.options.join(', '), oneOf(Risk.options))
      .option('--task <id>', 'only of this task', as(TaskId))
      .option('--requester <name>', 'only what this one has asked for')
      .option('--search <words>', 'all of these words in title, target, capability or task')
      .option('--order <order>', `${ORDERS.join(', ')} first (default: oldest)`, oneOf(ORDERS))
      .option('--limit <number>', 'how many', wholeNumber(LIST_MAX))
      .option('--after <place>', 'go on where an earlier list ended')
      .option('--json', 'print the answer as it came')
      .action(({ json: asJson, mine, audience, ...page }: Page) =>
        use(async (client) => {
          const names = await audienceOf(client, { ...(mine && { mine }), ...(audience && { audience }) });
          const answer = await listPage(client, { ...page, ...(names && { audience: [...names] }) });
          if (asJson) json(answer);
          else lines(approvalListText(answer, now()));
          return undefined;
        }),
      ),
    'approvals list --status rejected',
    'approvals list --mine --order risk',
    'approvals list --kind deploy --search "billing production"',
  );
  withExample(
    approvals
      .command('show')
      .description('show one approval with the exact effect, and what changed since the last review')
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
      .description(
        'say what became of an effect that nobody can be sure of, or what a stuck job is to come to',
      )
      .argument('<id>', 'id of the question', as(ApprovalId))
      .argument(
        '<answer>',
        `${DoubtAnswer.options.join(', ')}; of a stuck job ${StuckAnswer.options.join(', ')}`,
        oneOf(Answer.options),
      )
      .option('--comment <text>', 'how you know, for the record')
      .option('--json', 'print the answer as it came')
      .action((id: ApprovalId, answer: Answer, { comment, json: asJson }: Decision) =>
        use(async (client) => {
          const asked = await client.call('approvals', 'get', { id });
          const decided = await decideOn(client, { ...asked, id }, answer, { comment });
          if (asJson) json(decided);
          else lines(decidedText(asked, decided, `answered with ${answer}`));
          return undefined;
        }),
      ),
    'approvals answer a-7h2k9m1x4c applied --comment "the order is there"',
    'approvals answer a-7h2k9m1x4c skip --comment "not needed for this release"',
  );
};

const addWatch = (approvals: Command, session: Session): void => {
  withExample(
    withWhose(
      approvals
        .command('watch')
        .description(
          'show what waits for a decision as it comes, ask for it on a terminal, and tell what others decide',
        ),
    )
      .option('--once', 'end when everything that waits by now has been shown')
      .action(({ once = false, ...whose }: Whose & { once?: boolean }) =>
        session.use(async (client) => {
          await watchApprovals(client, session, { once, audience: await audienceOf(client, whose) });
          return undefined;
        }),
      ),
    'approvals watch',
    'approvals watch --mine',
  );
};

export const addApprovals = (program: Command, session: Session): void => {
  const approvals = withExample(
    program.command('approvals').description('see and decide what waits at a gate'),
    'approvals list',
  );
  addReading(approvals, session);
  addVerbs(approvals, session);
  addAnswer(approvals, session);
  addRespond(approvals, session);
  addWatch(approvals, session);
};
