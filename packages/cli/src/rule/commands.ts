import { RuleId } from '@holdpoint/contracts/values/ids';
import { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import type { Command } from 'commander';
import { as, duration, oneOf, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { type MatchOptions, matchOf, withMatch } from './match.ts';
import { ruleListText, ruleTestText, ruleText } from './text.ts';
import type { Session } from '../kit/session.ts';

const STATUSES = RuleView.shape.status.options;
const USES_MAX = 1_000;
const LIST_MAX = 500;
const LAST_MAX = 5_000;

type Added = MatchOptions & { readonly expires?: number; readonly uses?: number; readonly json?: true };

const addList = (rules: Command, { use, lines, json }: Session): void => {
  withExample(
    rules
      .command('list')
      .description('list standing rules, oldest first')
      .option('--status <status>', STATUSES.join(', '), oneOf(STATUSES))
      .option('--limit <number>', 'how many', wholeNumber(LIST_MAX))
      .option('--after <place>', 'go on where an earlier list ended')
      .option('--json', 'print the answer as it came')
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
    'rules list --status active',
  );
};

const addAdd = (rules: Command, { use, lines, json }: Session): void => {
  withExample(
    withMatch(
      rules
        .command('add')
        .description('approve beforehand whatever fits, as far as you might approve it yourself')
        .argument('<name>', 'what it is for'),
    )
      .option('--expires <time>', 'how long it holds, such as 30d', duration)
      .option('--uses <number>', 'how often it may decide', wholeNumber(USES_MAX))
      .option('--json', 'print the answer as it came')
      .action((name: string, { expires, uses, json: asJson, ...options }: Added) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'rule_add', {
            name,
            match: matchOf(options),
            ...(expires !== undefined && { expiresInMs: expires }),
            ...(uses !== undefined && { usesMax: uses }),
          });
          if (asJson) json(answer);
          else lines(ruleText(answer));
          return undefined;
        }),
      ),
    'rules add "chat of the build" --kind notify --target "slack:*" --expires 30d',
  );
};

const addTest = (rules: Command, { use, lines, json }: Session): void => {
  withExample(
    withMatch(
      rules.command('test').description('say which of the latest requests such a rule would have approved'),
    )
      .option('--last <number>', 'how many requests to look at', wholeNumber(LAST_MAX))
      .option('--json', 'print the answer as it came')
      .action(({ last, json: asJson, ...options }: MatchOptions & { last?: number; json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'rule_test', {
            match: matchOf(options),
            ...(last !== undefined && { last }),
          });
          if (asJson) json(answer);
          else lines(ruleTestText(answer));
          return undefined;
        }),
      ),
    'rules test --kind notify --target "slack:*"',
  );
};

const addRevoke = (rules: Command, { use, lines, json }: Session): void => {
  withExample(
    rules
      .command('revoke')
      .description('end a standing rule')
      .argument('<id>', 'id of the rule', as(RuleId))
      .option('--reason <text>', 'why, for the record')
      .option('--json', 'print the answer as it came')
      .action((id: RuleId, { reason, json: asJson }: { reason?: string; json?: true }) =>
        use(async (client) => {
          const request = { id, ...(reason !== undefined && { reason }) };
          const answer = await client.call('approvals', 'rule_revoke', request);
          if (asJson) json(answer);
          else lines([`${answer.id} is revoked by ${answer.revokedBy ?? 'nobody'}`]);
          return undefined;
        }),
      ),
    'rules revoke u-4c7x2m9k1d',
  );
};

export const addRules = (program: Command, session: Session): void => {
  const rules = withExample(
    program.command('rules').description('see and make the standing rules that approve without a person'),
    'rules list',
  );
  addList(rules, session);
  addAdd(rules, session);
  addTest(rules, session);
  addRevoke(rules, session);
};
