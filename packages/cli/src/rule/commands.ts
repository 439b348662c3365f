import { RuleId } from '@holdpoint/contracts/values/ids';
import { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import type { Command } from 'commander';
import { as, duration, oneOf, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { type MatchOptions, matchOf, withMatch } from './match.ts';
import { ruleListText, ruleTestText, ruleText } from './text.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

const STATUSES = RuleView.shape.status.options;
const USES_MAX = 1_000;
const LIST_MAX = 500;
const LAST_MAX = 5_000;

type Added = MatchOptions & {
  readonly dryRun?: true;
  readonly last?: number;
  readonly expires?: number;
  readonly uses?: number;
  readonly json?: true;
};

const addList = (rule: Command, { use, lines, json }: Session): void => {
  withExample(
    rule
      .command('list')
      .description('list standing rules, oldest first')
      .option('--status <status>', STATUSES.join(', '), oneOf(STATUSES))
      .option('--limit <number>', 'maximum number of rules', wholeNumber(LIST_MAX))
      .option('--after <cursor>', 'continue after this cursor, printed by an earlier list')
      .option('--json', 'print the API response as JSON')
      .action(
        ({
          json: asJson,
          ...page
        }: {
          status?: RuleView['status'];
          limit?: number;
          after?: string;
          json?: true;
        }) =>
          use(async (client) => {
            const answer = await client.call('approvals', 'rule_list', page);
            if (asJson) json(answer);
            else lines(ruleListText(answer));
            return undefined;
          }),
      ),
    'rule list --status active',
  );
};

const addAdd = (rule: Command, { use, lines, json }: Session): void => {
  withExample(
    withMatch(
      rule
        .command('add')
        .description('add a rule: approve matching requests that you may approve yourself')
        .argument('<name>', 'name of the rule'),
    )
      .option('--expires <time>', 'lifetime, such as 12h or 30d (default: none)', duration)
      .option('--uses <number>', 'maximum number of uses (default: unlimited)', wholeNumber(USES_MAX))
      .option('--dry-run', 'only show which recent requests such a rule would have approved')
      .option('--last <number>', 'with --dry-run: number of recent requests to check', wholeNumber(LAST_MAX))
      .option('--json', 'print the API response as JSON')
      .action((name: string, { dryRun, last, expires, uses, json: asJson, ...options }: Added) => {
        if (last !== undefined && dryRun !== true) throw new UsageError('--last needs --dry-run');
        const match = matchOf(options);
        return use(async (client) => {
          if (dryRun === true) {
            const tested = await client.call('approvals', 'rule_test', {
              match,
              ...(last !== undefined && { last }),
            });
            if (asJson) json(tested);
            else lines(ruleTestText(tested));
            return undefined;
          }
          const answer = await client.call('approvals', 'rule_add', {
            name,
            match,
            ...(expires !== undefined && { expiresInMs: expires }),
            ...(uses !== undefined && { usesMax: uses }),
          });
          if (asJson) json(answer);
          else lines(ruleText(answer));
          return undefined;
        });
      }),
    'rule add "chat of the build" --capability "cap.notify.*" --target "notify:BUILD_CHAT" --expires 30d',
  );
};

const addRevoke = (rule: Command, { use, lines, json }: Session): void => {
  withExample(
    rule
      .command('revoke')
      .description('revoke a standing rule')
      .argument('<id>', 'rule ID', as(RuleId))
      .option('--reason <text>', 'reason, kept in the record')
      .option('--json', 'print the API response as JSON')
      .action((id: RuleId, { reason, json: asJson }: { reason?: string; json?: true }) =>
        use(async (client) => {
          const request = { id, ...(reason !== undefined && { reason }) };
          const answer = await client.call('approvals', 'rule_revoke', request);
          if (asJson) json(answer);
          else lines([`${answer.id} is revoked by ${answer.revokedBy ?? 'unknown'}`]);
          return undefined;
        }),
      ),
    'rule revoke u-4c7x2m9k1d',
  );
};

export const addRule = (program: Command, session: Session): void => {
  const rule = withExample(
    program
      .command('rule')
      .alias('rules')
      .description('list, add and revoke standing rules, which approve requests automatically'),
    'rule list',
  );
  addList(rule, session);
  addAdd(rule, session);
  addRevoke(rule, session);
};
