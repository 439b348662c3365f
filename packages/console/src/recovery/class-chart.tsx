import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { FailureBucket } from '@holdpoint/contracts/recovery/views';
import { useState } from 'preact/hooks';
import { Busy, Empty, Problem, Section } from '../parts/bits.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { CLASSES } from '../tasks/labels.ts';
import { instant, utcDay } from '../text/time.ts';
import { type Bar, barsOf, rangeOf, type SpanName, SPANS, sumOf } from './class-counts.ts';
import { FAILURE_ORDER } from './class-order.ts';

const [WIDTH, HEIGHT] = [720, 180];
/** Room for the numbers of the axis. */
const LEFT = 36;
const TOP = 8;
const BOTTOM = HEIGHT - 4;

/** Hours are shown in local time. Days start at midnight UTC, and say so. */
const beginning = (from: number, bucket: FailureBucket): string =>
  bucket === 'day' ? utcDay(from) : instant(from);

type ChartData = {
  readonly bars: readonly Bar[];
  readonly classes: readonly FailureClass[];
  readonly bucket: FailureBucket;
};

const Bars = ({ bars, classes, bucket }: ChartData) => {
  const most = Math.max(1, ...bars.map(({ all }) => all));
  const step = (WIDTH - LEFT) / Math.max(1, bars.length);
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      role="img"
      aria-label="Failures by class over time; the table below has the same data"
    >
      {[
        [most, TOP],
        [0, BOTTOM],
      ].map(([number = 0, y = 0]) => (
        <g key={number} class="axis">
          <line x1={LEFT - 4} x2={WIDTH} y1={y} y2={y} />
          <text x={LEFT - 8} y={y + 4}>
            {number}
          </text>
        </g>
      ))}
      {bars.map(({ from, counts }, i) => {
        let top = BOTTOM;
        return classes.map((name) => {
          const height = ((counts[name] ?? 0) / most) * (BOTTOM - TOP);
          top -= height;
          return (
            <rect
              key={`${String(from)} ${name}`}
              class={`class-${name.toLowerCase()}`}
              x={LEFT + i * step + 2}
              y={top}
              width={Math.max(2, Math.min(60, step - 4))}
              height={height}
            >
              <title>{`${CLASSES[name]}: ${String(counts[name] ?? 0)}, ${beginning(from, bucket)}`}</title>
            </rect>
          );
        });
      })}
    </svg>
  );
};

const Counts = ({ bars, classes, bucket }: ChartData) => (
  <div class="wide-table" tabIndex={0} role="group" aria-label="Failures by class, in numbers">
    <table>
      <thead>
        <tr>
          <th scope="col">{bucket === 'day' ? 'Day (UTC)' : 'Hour from'}</th>
          {classes.map((name) => (
            <th key={name} scope="col">
              <span class={`swatch class-${name.toLowerCase()}`} aria-hidden="true" /> {CLASSES[name]}
            </th>
          ))}
          <th scope="col">All</th>
        </tr>
      </thead>
      <tbody>
        {bars
          .filter(({ all }) => all > 0)
          .toReversed()
          .map(({ from, counts, all }) => (
            <tr key={from}>
              <th scope="row">{beginning(from, bucket)}</th>
              {classes.map((name) => (
                <td key={name}>{counts[name] ?? 0}</td>
              ))}
              <td>{all}</td>
            </tr>
          ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th>
          {classes.map((name) => (
            <td key={name}>{sumOf(bars, name)}</td>
          ))}
          <td>{bars.reduce((sum, { all }) => sum + all, 0)}</td>
        </tr>
      </tfoot>
    </table>
  </div>
);

/** Failures of all tasks by class, over a day, a week or a month. */
export const ClassChart = () => {
  const { caller } = useSession();
  const [span, setSpan] = useState<SpanName>('week');
  const { value, error, reload } = useLoad(
    (signal) => caller.ask('recovery', 'failure_counts', rangeOf(span, Date.now()), { signal }),
    [span],
  );
  const bars = value === undefined ? [] : barsOf(value, value.items);
  const classes = FAILURE_ORDER.filter((name) => sumOf(bars, name) > 0);
  return (
    <Section title="Failures over time">
      <div class="row" role="group" aria-label="Period">
        {(Object.keys(SPANS) as readonly SpanName[]).map((name) => (
          <button
            key={name}
            type="button"
            class={name === span ? 'primary' : ''}
            aria-pressed={name === span}
            onClick={() => setSpan(name)}
          >
            {SPANS[name].text}
          </button>
        ))}
      </div>
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value !== undefined && classes.length === 0 && <Empty>No failures in this period.</Empty>}
      {value !== undefined && classes.length > 0 && (
        <>
          <p class="hint">
            Failed attempts of all tasks.{' '}
            {value.bucket === 'day' ? 'One bar per day (UTC).' : 'One bar per hour (your time).'}
          </p>
          <Bars bars={bars} classes={classes} bucket={value.bucket} />
          <Counts bars={bars} classes={classes} bucket={value.bucket} />
        </>
      )}
    </Section>
  );
};
