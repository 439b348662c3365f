import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { Digest } from '@holdpoint/contracts/effect/canonical-effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import { type Command, Option } from 'commander';
import type { Client } from '../bus/client.ts';
import { jobName, type JobName } from '../job/target.ts';
import { as, duration, wholeNumber } from '../kit/arguments.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { answerLine, answerText, decideOn } from './decisions.ts';
import { decideJobs, type JobVerb } from './job-decisions.ts';
import { type Remember, ruleFrom } from './remember.ts';

const USES_MAX = 1_000;

type Decision = { readonly comment?: string; readonly digest?: string; readonly json?: true };

type RuleOptions = {
  /** True without a name. */
  readonly remember?: string | true;
  readonly expires?: number;
  readonly uses?: number;
  readonly matchTarget?: string;
  readonly matchAnyTarget?: true;
};

type JobOptions = {
  readonly run?: TaskId;
  readonly reason?: string;
};

/** An approval, or a job whose pending request is meant. */
type Subject = ApprovalId | JobName;

const collectSubjects = (text: string, before: readonly Subject[] = []): readonly Subject[] => [
  ...before,
  text.includes('/') ? jobName(text) : as(ApprovalId)(text),
];

const collectIds = (text: string, before: readonly ApprovalId[] = []): readonly ApprovalId[] => [
  ...before,
  as(ApprovalId)(text),
];

const rememberIn = ({
  remember,
  expires,
  uses,
  matchTarget,
  matchAnyTarget,
}: RuleOptions): Remember | undefined => {
  const refined = [expires, uses, matchTarget, matchAnyTarget].some((option) => option !== undefined);
  if (remember === undefined && refined)
    throw new UsageError('--expires, --uses, --match-target and --match-any-target need --remember');
  if (matchTarget !== undefined && matchAnyTarget === true)
    throw new UsageError('use either --match-target or --match-any-target, not both');
  if (remember === undefined) return undefined;
  const named = remember !== true && { name: remember };
  return { ...named, expiresInMs: expires, uses, target: matchTarget, anyTarget: matchAnyTarget };
};

type Outcome = {
  readonly approval: ApprovalView;
  readonly answer: ApiResponse<'approvals', 'decide'>;
};

const decideOne = async (
  client: Client,
  id: ApprovalId,
  verb: Verb,
  { comment, digest }: Decision,
  remember: Remember | undefined,
): Promise<Outcome> => {
  const approval = await client.call('approvals', 'get', { id });
  const answer = await decideOn(client, { ...approval, id }, verb, {
    comment,
    digest,
    ...(remember && { remember: ruleFrom(approval, remember) }),
  });
  return { approval, answer };
};

/** Decides each request by itself, one line each: one failure does not stop the others. */
const decideEach = async (
  { lines, json }: Session,
  ids: readonly ApprovalId[],
  verb: Verb,
  asJson: boolean,
  decide: (id: ApprovalId) => Promise<Outcome>,
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

const decideApprovals = (
  session: Session,
  ids: readonly ApprovalId[],
  verb: Verb,
  options: Decision & RuleOptions,
): Promise<void> => {
  const { digest, json: asJson = false } = options;
  const remember = rememberIn(options);
  const [id, ...others] = ids;
  if (others.length > 0 && digest !== undefined)
    throw new UsageError('--digest belongs to one effect: name exactly one approval');
  return session.use(async (client) => {
    const decide = (each: ApprovalId) => decideOne(client, each, verb, options, remember);
    if (id === undefined || others.length > 0) return decideEach(session, ids, verb, asJson, decide);
    const { approval, answer } = await decide(id);
    if (asJson) session.json(answer);
    else session.lines(answerText(approval, answer, verb));
    return undefined;
  });
};

const decideSubjects =
  (session: Session, verb: JobVerb) =>
  (subjects: readonly Subject[], options: Decision & RuleOptions & JobOptions): Promise<void> => {
    const { run, reason, ...decision } = options;
    const comment = decision.comment ?? reason;
    const ids = subjects.filter((subject) => typeof subject === 'string');
    const names = subjects.filter((subject) => typeof subject !== 'string');
    const asJson = decision.json === true;
    if (run === undefined && names.length === 0) {
      if (ids.length === 0) throw new UsageError('name an approval, a job as <task>/<node>, or --run <task>');
      const described = { ...decision, ...(comment !== undefined && { comment }) };
      return decideApprovals(session, ids, verb, asJson ? { ...described, json: true } : described);
    }
    if (ids.length > 0) throw new UsageError('use either approval IDs or jobs, not both');
    if (run !== undefined && names.length > 0) throw new UsageError('use either a job or --run, not both');
    if (decision.digest !== undefined || decision.remember !== undefined)
      throw new UsageError('--digest and --remember need an approval ID');
    return session.use(async (client) => {
      await decideJobs(client, { names, task: run }, verb, { comment, json: asJson }, session);
      return undefined;
    });
  };

const withCommon = (command: Command): Command =>
  command
    .option('--digest <sha256>', 'decide only if the effect still has this digest', as(Digest))
    .option('--json', 'print JSON, one line per request or job');

const subjectCommand = (parent: Command, name: JobVerb, description: string): Command =>
  withCommon(
    parent
      .command(name)
      .description(description)
      .argument('[request...]', 'approval IDs, or jobs as <task>/<node>', collectSubjects)
      .option('--run <task>', 'decide every pending request of this task', as(TaskId))
      .option('--comment <text>', 'reason, kept in the record')
      .addOption(new Option('--reason <text>', 'the same as --comment').hideHelp()),
  );

export const addApprove = (parent: Command, session: Session): void => {
  const path = commandPath(parent);
  withExample(
    subjectCommand(parent, 'approve', 'approve exactly this effect')
      .option('--remember [name]', 'also create a standing rule that approves similar requests')
      .option('--expires <time>', 'lifetime of the rule, such as 12h or 7d (default: 30d)', duration)
      .option(
        '--uses <number>',
        'maximum number of uses of the rule (default: unlimited)',
        wholeNumber(USES_MAX),
      )
      .option(
        '--match-target <pattern>',
        'targets of the rule; * matches any text (default: the same target)',
      )
      .option('--match-any-target', 'let the rule match any target')
      .action(decideSubjects(session, 'approve')),
    `${path} approve a-7h2k9m1x4c --comment "I looked at it"`,
    `${path} approve t-4k2m9x1c7h0a/deploy`,
    `${path} approve a-7h2k9m1x4c --remember "chat of the build" --expires 7d --uses 20`,
  );
};

export const addReject = (parent: Command, session: Session): void => {
  const path = commandPath(parent);
  withExample(
    subjectCommand(parent, 'reject', 'reject this effect')
      .alias('deny')
      .action(decideSubjects(session, 'reject')),
    `${path} reject a-7h2k9m1x4c --comment "not today"`,
    `${path} reject t-4k2m9x1c7h0a/deploy`,
  );
};

export const addRequestChanges = (parent: Command, session: Session): void => {
  withExample(
    withCommon(
      parent
        .command('request-changes')
        .description('send a request back, with the changes that you want')
        .argument('<id...>', 'approval IDs', collectIds)
        .requiredOption('--comment <text>', 'changes that you want'),
    ).action((ids: readonly ApprovalId[], options: Decision) =>
      decideApprovals(session, ids, 'request_changes', options),
    ),
    'approval request-changes a-7h2k9m1x4c --comment "to staging first"',
  );
};
