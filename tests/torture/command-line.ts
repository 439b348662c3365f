import { Problem } from '@holdpoint/infra/local/problem';
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
  if (!(ms >= 1)) throw new InvalidArgumentError('a time such as 90s, 10m or 1h');
  return ms;
};

const parseRate = (text: string): number => {
  const rate = Number(text);
  if (!(rate > 0 && rate <= 1_000)) throw new InvalidArgumentError('tasks a second, at most 1000');
  return rate;
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
      'Breaks a Holdpoint under load, mends it, and checks every promise against what has happened. Without options: one of its own, on this machine, for two minutes.',
    )
    .option('--seed <text>', 'the same seed makes the same plan; by default one is drawn')
    .option('--duration <time>', 'how long there are load and faults', parseDuration, 120_000)
    .option('--rate <number>', 'tasks a second', parseRate, 20)
    .option('--fault-every <time>', 'a fault every so often, on average', parseDuration, 5_000)
    .option('--faults <names>', 'which faults, or groups of them', (text: string) => text.split(','))
    .option('--plan <file>', 'repeat the plan of a history, or one that was written by hand')
    .option('--history <file>', 'where everything that happens is written')
    .option('--report <file>', 'the result as JSON')
    .addOption(new Option('--target <what>', 'what is broken').choices(['local', 'compose']).default('local'))
    .addOption(new Option('--effects <what>', 'what effects change').choices(['counter', 'file']))
    .option(
      '--settle <time>',
      'how long everything may take to come to rest afterwards',
      parseDuration,
      420_000,
    )
    .option('--data <folder>', 'where a Holdpoint of its own keeps everything')
    .option('--project <name>', 'of Docker Compose', 'holdpoint')
    .option('--yes-break-it', 'needed for a deployment that is not its own')
    .option('--list', 'list the faults, and do nothing')
    .action(run);
