import {
  FAILURE_BUCKET_MS,
  FAILURE_BUCKETS_MAX,
  FailureBucket,
  type FailureCount,
} from '@holdpoint/contracts/recovery/views';
import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { Command } from 'commander';
import { as, duration } from '../kit/arguments.ts';
import { instant } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import type { Line } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';
import { table } from '../output/table.ts';
import { UsageError } from '../kit/usage-error.ts';

const WEEK_MS = 7 * FAILURE_BUCKET_MS.day;

const beginning = (at: number, bucket: FailureBucket): string =>
  bucket === 'day' ? instant(at).slice(0, 10) : instant(at).replace(':00:00Z', ':00Z');

/** One line per hour or day with failures, one column per failure class. */
const countLines = (items: readonly FailureCount[], bucket: FailureBucket): readonly Line[] => {
  if (items.length === 0) return ['no failed attempts'];
  const classes = FailureClass.options.filter((name) => items.some((item) => item.class === name));
  const times = [...new Set(items.map(({ at }) => at))];
  const sumOf = (fits: (item: FailureCount) => boolean): string =>
    String(items.filter(fits).reduce((sum, { count }) => sum + count, 0));
  return table(
    [bucket === 'day' ? 'Day (UTC)' : 'Hour (UTC)', ...classes, 'All'],
    [
      ...times.map((time) => [
        beginning(time, bucket),
        ...classes.map((name) => sumOf(({ at, class: each }) => at === time && each === name)),
        sumOf(({ at }) => at === time),
      ]),
      ['all', ...classes.map((name) => sumOf((item) => item.class === name)), sumOf(() => true)],
    ],
  );
};

type Options = { readonly last?: number; readonly bucket?: FailureBucket; readonly json?: true };

const bucketFor = (last: number): FailureBucket => (last <= 2 * FAILURE_BUCKET_MS.day ? 'hour' : 'day');

export const addClasses = (recovery: Command, { use, lines, json, now }: Session): void => {
  withExample(
    recovery
      .command('classes')
      .description('count failed attempts by class, per hour or day (UTC)')
      .option('--last <time>', 'period before now, such as 24h or 30d (default: 7d)', duration)
      .option('--bucket <size>', 'hour or day (default: hour up to two days, else day)', as(FailureBucket))
      .option('--json', 'print the API response as JSON')
      .action(({ last = WEEK_MS, bucket = bucketFor(last), json: asJson }: Options) => {
        if (last > FAILURE_BUCKETS_MAX * FAILURE_BUCKET_MS[bucket])
          throw new UsageError(`--last: at most ${String(FAILURE_BUCKETS_MAX)} ${bucket}s`);
        return use(async (client) => {
          const to = now();
          const answer = await client.call('recovery', 'failure_counts', { from: to - last, to, bucket });
          if (asJson) json(answer);
          else lines(countLines(answer.items, answer.bucket));
          return undefined;
        });
      }),
    'recovery classes',
    'recovery classes --last 24h --json',
  );
};
