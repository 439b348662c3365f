import { Problem } from '@holdpoint/infra/local/problem';
import type { Form } from '@holdpoint/infra/local/stack';
import { Command, InvalidArgumentError, Option } from 'commander';
import { FAULT_GROUPS, type Fault } from './faults/fault.ts';

export type Options = {
  readonly seed?: string;
  readonly duration: number;
  readonly rate: number;
  readonly faultEvery: number;
  readonly faults?: readonly string[];
  readonly history?: string;
  readonly report?: string;
  readonly plan?: string;
  readonly target: 'local' | 'compose';
  readonly form: Form;
  readonly replicas: number;
  readonly effects?: 'counter' | 'file';
  readonly settle: number;
  readonly data?: string;
  readonly project: string;
  readonly yesBreakIt?: true;
  readonly list?: true;
};

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export const parseDuration = (text: string): number => {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(number) * (UNITS[unit] ?? Number.NaN));
  if (!(ms >= 1)) throw new InvalidArgumentError('expected a duration such as 90s, 10m or 1h');
  return ms;
};

const parseRate = (text: string): number => {
  const rate = Number(text);
  if (!(rate > 0 && rate <= 1_000)) throw new InvalidArgumentError('expected tasks per second, at most 1000');
  return rate;
};

const parseReplicas = (text: string): number => {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 4)
    throw new InvalidArgumentError('expected 1 to 4 processes of each kind');
  return count;
};

/** Names of faults or groups, separated by commas. */
export const chooseFaults = (
  all: readonly Fault[],
  wanted: readonly string[] | undefined,
): readonly Fault[] => {
  if (wanted === undefined) return all;
  const unknown = wanted.filter((name) => !all.some((fault) => fault.name === name || fault.group === name));
  if (unknown.length > 0)
    throw new Problem(
      `--faults: there is no ${unknown.join(', ')}; there are the groups ${FAULT_GROUPS.join(', ')} and the faults ${all.map(({ name }) => name).join(', ')}`,
    );
  return all.filter(({ name, group }) => wanted.includes(name) || wanted.includes(group));
};

export const createCommand = (run: (options: Options) => Promise<void>): Command =>
  new Command('npm run torture')
    // The caller maps errors to exit codes.
    .exitOverride()
    .description(
      'Break a Holdpoint under load, repair it, and check every promise. Without options: a local deployment for two minutes.',
    )
    .option('--seed <text>', 'Seed of the plan (default: random).')
    .option('--duration <time>', 'Duration of load and faults.', parseDuration, 120_000)
    .option('--rate <number>', 'Tasks per second.', parseRate, 20)
    .option('--fault-every <time>', 'Average interval between faults.', parseDuration, 5_000)
    .option('--faults <names>', 'Faults or fault groups, comma-separated.', (text: string) => text.split(','))
    .option('--plan <file>', 'Plan file, or a history with a plan in its first line.')
    .option('--history <file>', 'File of the history.')
    .option('--report <file>', 'File for the result as JSON.')
    .addOption(
      new Option('--target <what>', 'Deployment to break.').choices(['local', 'compose']).default('local'),
    )
    .addOption(
      new Option('--form <form>', 'Services of the local deployment: one process each, or a core.')
        .choices(['apart', 'core'])
        .default('apart'),
    )
    .option('--replicas <number>', 'Processes of each kind in the local deployment.', parseReplicas, 2)
    .addOption(new Option('--effects <what>', 'Target of effects.').choices(['counter', 'file']))
    .option('--settle <time>', 'Time to come to rest after the faults.', parseDuration, 420_000)
    .option('--data <folder>', 'Data folder of the local deployment.')
    .option('--project <name>', 'Docker Compose project.', 'holdpoint')
    .option('--yes-break-it', 'Confirm that an existing deployment may be broken.')
    .option('--list', 'List all faults and exit.')
    .action(run);
