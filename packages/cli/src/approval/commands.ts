import { type ApprovalView, Risk } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/approval/question';
import { hasCode } from '@holdpoint/contracts/values/errors';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Client } from '../bus/client.ts';
import { namesOf } from '@holdpoint/contracts/workflow/audience';
import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { Command } from 'commander';
import { as, collect, oneOf, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { addAnswer } from './answering.ts';
import { addApprove, addReject, addRequestChanges } from './deciding.ts';
import { approvalListText, approvalText } from './text.ts';
import { watchApprovals } from './watch.ts';

const LIST_MAX = 500;

type AudienceOptions = { readonly mine?: true; readonly audience?: readonly string[] };
type Page = Omit<ApiRequest<'approvals', 'list'>, 'audience'> &
  AudienceOptions & { readonly watch?: true; readonly once?: true; readonly json?: true };

const withAudience = (command: Command): Command =>
  command
    .option('--mine', 'only requests addressed to you (the owner of the token)')
    .option(
      '--audience <name>',
      'only requests addressed to user:<name>, group:<name> or role:<name> (repeatable)',
      collect,
    );

/** Audience names to filter by; undefined for all requests. */
const audienceOf = async (
  client: Client,
  { mine, audience }: AudienceOptions,
): Promise<readonly string[] | undefined> => {
  if (mine === undefined) return audience;
  return [...namesOf(await client.call('approvals', 'whoami', {})), ...(audience ?? [])];
};

/** A page can be empty although later pages have matches. */
const EMPTY_PAGES_MAX = 100;

const listPage = async (
  client: Client,
  request: ApiRequest<'approvals', 'list'>,
  left = EMPTY_PAGES_MAX,
): Promise<ApiResponse<'approvals', 'list'>> => {
  const page = await client.call('approvals', 'list', request);
  return page.items.length > 0 || page.next === undefined || left === 0
    ? page
    : listPage(client, { ...request, after: page.next }, left - 1);
};

/** Time of the last order of an in-doubt effect, in epoch milliseconds; undefined if its task no longer exists. */
const orderedAt = async (client: Client, approval: ApprovalView): Promise<number | undefined> => {
  if (questionOf(approval) !== 'in_doubt') return undefined;
  const { task, effectId } = approval;
  try {
    const { events } = await client.call('orchestrator', 'history', { id: task });
    return events.findLast(({ data }) => {
      const event = TaskEvent.safeParse(data).data;
      return event?.type === 'effect_ordered' && event.effectId === effectId;
    })?.at;
  } catch (error) {
    if (hasCode(error, 'ORCHESTRATOR_UNKNOWN_TASK')) return undefined;
    throw error;
  }
};

const STATUSES = ListApprovals.shape.status.unwrap().options;
const ORDERS = ListApprovals.shape.order.unwrap().options;

const addReading = (approval: Command, session: Session): void => {
  const { use, lines, json, now } = session;
  withExample(
    withAudience(
      approval.command('list').description('list approval requests, pending ones by default, oldest first'),
    )
      .option(
        '--status <status>',
        `${STATUSES.join(', ')} (default: pending)`,
        as(ListApprovals.shape.status.unwrap()),
      )
      .option('--kind <kind>', SideEffectKind.options.join(', '), oneOf(SideEffectKind.options))
      .option('--risk <risk>', Risk.options.join(', '), oneOf(Risk.options))
      .option('--task <task>', 'only requests of this task', as(TaskId))
      .option('--requester <name>', 'only requests of this requester')
      .option('--search <words>', 'full-text search in title, target, capability and task')
      .option('--order <order>', `${ORDERS.join(', ')} first (default: oldest)`, oneOf(ORDERS))
      .option('--limit <number>', 'maximum number of requests', wholeNumber(LIST_MAX))
      .option('--after <cursor>', 'continue after this cursor, printed by an earlier list')
      .option('--watch', 'show requests and decisions as they arrive; on a terminal, ask for your decision')
      .option('--once', 'with --watch: exit after the requests that are pending now')
      .option('--json', 'print the API response as JSON')
      .action(({ json: asJson, mine, audience, watch, once, ...page }: Page) => {
        if (once === true && watch !== true) throw new UsageError('--once needs --watch');
        if (watch === true && (asJson === true || Object.keys(page).length > 0))
          throw new UsageError('--watch goes only with --once, --mine and --audience');
        return use(async (client) => {
          const names = await audienceOf(client, { ...(mine && { mine }), ...(audience && { audience }) });
          if (watch === true) {
            await watchApprovals(client, session, { once: once === true, audience: names });
            return undefined;
          }
          const answer = await listPage(client, { ...page, ...(names && { audience: [...names] }) });
          if (asJson) json(answer);
          else lines(approvalListText(answer, now(), session.terminal()));
          return undefined;
        });
      }),
    'approval list --status rejected',
    'approval list --mine --order risk',
    'approval list --kind deploy --search "billing production"',
    'approval list --watch --mine',
  );
  withExample(
    approval
      .command('show')
      .description('show one request with the exact effect and the changes since the last review')
      .argument('<id>', 'approval ID', as(ApprovalId))
      .option('--json', 'print the API response as JSON')
      .action((id: ApprovalId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'get', { id });
          if (options.json) json(answer);
          else lines(approvalText(answer, now(), await orderedAt(client, answer)));
          return undefined;
        }),
      ),
    'approval show a-7h2k9m1x4c',
  );
};

export const addApproval = (program: Command, session: Session): void => {
  const approval = withExample(
    program
      .command('approval')
      .alias('approvals')
      .description('list, show and decide approval requests and questions'),
    'approval list',
  );
  addReading(approval, session);
  for (const add of [addApprove, addReject, addRequestChanges, addAnswer]) add(approval, session);
};
