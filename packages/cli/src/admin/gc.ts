import { KEEP_MAX_DAYS, KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { type Command, InvalidArgumentError } from 'commander';
import type { Client } from '../bus/client.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { BUS_POLICY, changeText, type ServiceRetention, policyLines } from './retention.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

/** The services continue after this timeout. */
const RETIRE_TIMEOUT_MS = 60_000;

const asDays = (text: string): number => {
  const days = Number(/^(\d+)d?$/.exec(text)?.[1]);
  if (days >= KEEP_MIN_DAYS && days <= KEEP_MAX_DAYS) return days;
  throw new InvalidArgumentError(
    `expected days from ${String(KEEP_MIN_DAYS)} to ${String(KEEP_MAX_DAYS)}: deleting earlier would lose duplicate protection`,
  );
};

const readRetention = (client: Client, keepDays: number | undefined): Promise<readonly ServiceRetention[]> =>
  Promise.all(
    SERVICES.map(async (service) => ({
      service,
      ...(await client.call(service, 'retention', keepDays === undefined ? {} : { keepDays })),
    })),
  );

/** Tasks are purged last, after their approvals, effects and attempts. */
const PURGE_ORDER = ['approvals', 'executor', 'recovery', 'orchestrator'] as const;

const apply = async (client: Client): Promise<Readonly<Record<string, number>>> => {
  const retired: Record<string, number> = {};
  for (const service of PURGE_ORDER)
    retired[service] = (await client.call(service, 'purge', {}, { timeoutMs: RETIRE_TIMEOUT_MS })).purged;
  return retired;
};

type Options = { readonly keep?: number; readonly apply?: true; readonly json?: true };

export const addGc = (parent: Command, { use, lines, json }: Session): void => {
  const path = commandPath(parent);
  withExample(
    parent
      .command('gc')
      .description('show how long data is kept and what would be purged; purge it with --apply')
      .option('--keep <days>', 'show what would be purged with this retention, in days', asDays)
      .option('--apply', 'purge expired data now (services do this every 30 s)')
      .option('--json', 'print the result as JSON')
      .action(({ keep, apply: remove, json: asJson }: Options) => {
        if (keep !== undefined && remove === true)
          throw new UsageError(`--apply uses the configured retention only. ${changeText(keep)}`);
        return use(async (client) => {
          const retired = remove === true ? await apply(client) : undefined;
          const kept = await readRetention(client, keep);
          if (asJson) {
            json({ services: kept, streams: BUS_POLICY, audit: 'kept', ...(retired && { retired }) });
            return undefined;
          }
          if (retired !== undefined)
            lines([
              `purged: ${PURGE_ORDER.map((service) => `${service} ${String(retired[service])}`).join(', ')}`,
              '',
            ]);
          lines([...policyLines(kept, keep), ...(keep === undefined ? [] : [changeText(keep)])]);
          return undefined;
        });
      }),
    `${path} gc`,
    `${path} gc --keep 30`,
    `${path} gc --apply`,
  );
};
