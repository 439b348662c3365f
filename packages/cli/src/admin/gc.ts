import { KEEP_MAX_DAYS, KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { type Command, InvalidArgumentError } from 'commander';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { BUS_POLICY, changeText, type Kept, policyLines } from './retention.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

/** However much there is to remove: it goes on without whoever asked. */
const RETIRE_TIMEOUT_MS = 60_000;

const asDays = (text: string): number => {
  const days = Number(/^(\d+)d?$/.exec(text)?.[1]);
  if (days >= KEEP_MIN_DAYS && days <= KEEP_MAX_DAYS) return days;
  throw new InvalidArgumentError(
    `days from ${String(KEEP_MIN_DAYS)} to ${String(KEEP_MAX_DAYS)}: what goes sooner could be carried out again`,
  );
};

const look = (client: Client, keepDays: number | undefined): Promise<readonly Kept[]> =>
  Promise.all(
    SERVICES.map(async (service) => ({
      service,
      ...(await client.call(service, 'retention', keepDays === undefined ? {} : { keepDays })),
    })),
  );

/** Tasks go last, when nothing is left of what they asked for. */
const IN_TURN = ['approvals', 'executor', 'recovery', 'orchestrator'] as const;

const apply = async (client: Client): Promise<Readonly<Record<string, number>>> => {
  const retired: Record<string, number> = {};
  for (const service of IN_TURN)
    retired[service] = (await client.call(service, 'retire', {}, { timeoutMs: RETIRE_TIMEOUT_MS })).retired;
  return retired;
};

type Options = { readonly keep?: number; readonly apply?: true; readonly json?: true };

export const addGc = (program: Command, { use, lines, json }: Session): void => {
  withExample(
    program
      .command('gc')
      .description('show what is kept for how long, and what would go; remove it with --apply')
      .option('--keep <days>', 'what would go if it were kept for so many days', asDays)
      .option(
        '--apply',
        'remove at once what the policy lets go; services do it by themselves twice a minute',
      )
      .option('--json', 'print it as JSON')
      .action(({ keep, apply: remove, json: asJson }: Options) => {
        if (keep !== undefined && remove === true)
          throw new UsageError(`--apply goes by the policy alone. ${changeText(keep)}`);
        return use(async (client) => {
          const retired = remove === true ? await apply(client) : undefined;
          const kept = await look(client, keep);
          if (asJson) {
            json({ services: kept, streams: BUS_POLICY, audit: 'kept', ...(retired && { retired }) });
            return undefined;
          }
          if (retired !== undefined)
            lines([
              `removed: ${IN_TURN.map((service) => `${service} ${String(retired[service])}`).join(', ')}`,
              '',
            ]);
          lines([...policyLines(kept, keep), ...(keep === undefined ? [] : [changeText(keep)])]);
          return undefined;
        });
      }),
    'gc',
    'gc --keep 30',
    'gc --apply',
  );
};
