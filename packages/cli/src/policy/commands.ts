import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import {
  parsePolicyFloor,
  type PolicyFloor,
  type PolicyImpact,
} from '@holdpoint/contracts/approval/policy-floor';
import type { Command } from 'commander';
import type { Client } from '../bus/client.ts';
import { wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { impactText, policyText } from './text.ts';

const DAYS = 30;
const DAYS_MAX = 365;
/** Impacts that are shown. */
const SHOWN_MAX = 1_000;

/** Throws `UsageError` with the place of the problem. */
const readFloor = (name: string, directory: () => string): PolicyFloor => {
  let text: string;
  try {
    text = readFileSync(isAbsolute(name) ? name : resolve(directory(), name), 'utf8');
  } catch (cause) {
    throw new UsageError(`${name}: cannot be read`, { cause });
  }
  try {
    return parsePolicyFloor(text);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new UsageError(`${name}: ${cause.message}`, { cause });
  }
};

/** Every request of these days that the floor would have changed. */
const impactsOf = async (client: Client, floor: PolicyFloor, days: number) => {
  const items: PolicyImpact[] = [];
  let examined = 0;
  let after: string | undefined;
  for (;;) {
    const page = await client.call('approvals', 'policy_test', {
      floor,
      days,
      ...(after !== undefined && { after }),
    });
    items.push(...page.items);
    examined += page.examined;
    after = page.next;
    if (after === undefined || items.length >= SHOWN_MAX)
      return { digest: page.digest, days, examined, items, ...(after !== undefined && { next: after }) };
  }
};

const addShow = (policy: Command, { use, lines, json }: Session): void => {
  withExample(
    policy
      .command('show')
      .description('show the policy floor: what every approval has to satisfy')
      .option('--json', 'print the API response as JSON')
      .action(({ json: asJson }: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'policy_get', {});
          if (asJson) json(answer);
          else lines(policyText(answer));
          return undefined;
        }),
      ),
    'policy show --json',
  );
};

const addTest = (policy: Command, { use, lines, json, directory }: Session): void => {
  withExample(
    policy
      .command('test')
      .description('show which recent requests a policy floor would have changed')
      .argument('<file>', 'policy file (JSON)')
      .option('--days <number>', 'days to look back', wholeNumber(DAYS_MAX), DAYS)
      .option('--json', 'print the answer as JSON')
      .action((file: string, { days, json: asJson }: { days: number; json?: true }) =>
        use(async (client) => {
          const answer = await impactsOf(client, readFloor(file, directory), days);
          if (asJson) json(answer);
          else lines(impactText(answer));
          return undefined;
        }),
      ),
    'policy test policy.json --days 30',
  );
};

export const addPolicy = (program: Command, session: Session): void => {
  const policy = withExample(
    program.command('policy').description('the policy floor of approvals'),
    'policy test policy.json',
  );
  addShow(policy, session);
  addTest(policy, session);
};
