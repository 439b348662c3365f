import { FAILURE_ORDER } from './class-order.ts';
import { Busy, Empty, Problem, Section } from '../parts/bits.tsx';
import { useLoad } from '../parts/use-load.ts';
import type { Caller } from '../session/call.ts';
import { useSession } from '../session/context.ts';
import { instant, span } from '../text/time.ts';
import { CLASSES } from '../tasks/words.ts';
import { bucketsOf, type Failure } from './class-counts.ts';

const TASKS_LOOKED = 60;
const AT_ONCE = 4;
const [WIDTH, HEIGHT] = [720, 180];

/** The failures of the latest tasks, as recovery has classified them. */
const failuresOf = async (caller: Caller, signal: AbortSignal): Promise<readonly Failure[]> => {
  const { items } = await caller.ask('orchestrator', 'list', { limit: TASKS_LOOKED }, { signal });
  const found: Failure[] = [];
  const left = items.map(({ id }) => id);
  const look = async (): Promise<void> => {
    for (let task = left.pop(); task !== undefined; task = left.pop()) {
      const history = await caller.ask('recovery', 'history', { task }, { signal });
      for (const { at, class: failed } of history.items)
        if (at !== undefined && failed !== undefined) found.push({ at, class: failed });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  return found;
};

/** Failures by class over time. */
export const ClassChart = () => {
  const { caller } = useSession();
  const { value, error, reload } = useLoad((signal) => failuresOf(caller, signal), []);
  const { spanMs, buckets } = bucketsOf(value ?? []);
  const shown = FAILURE_ORDER.filter((name) => value?.some((failure) => failure.class === name));
  const most = Math.max(
    1,
    ...buckets.map(({ counts }) => Object.values(counts).reduce((sum, n) => sum + n, 0)),
  );
  const step = WIDTH / Math.max(1, buckets.length);
  return (
    <Section title="What went wrong, over time">
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value?.length === 0 && <Empty>Nothing failed in the latest {TASKS_LOOKED} tasks.</Empty>}
      {buckets.length > 0 && (
        <>
          <p class="hint">
            Failures of the latest {TASKS_LOOKED} tasks, one bar for {span(spanMs)}.
          </p>
          <svg
            class="chart"
            viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
            role="img"
            aria-label="Failures by class over time; the table below says the same"
          >
            {buckets.map(({ from, counts }, i) => {
              let top = HEIGHT - 4;
              return shown.map((name) => {
                const height = ((counts[name] ?? 0) / most) * (HEIGHT - 12);
                top -= height;
                return (
                  <rect
                    key={`${String(from)} ${name}`}
                    class={`class-${name.toLowerCase()}`}
                    x={i * step + 2}
                    y={top}
                    width={Math.max(2, Math.min(60, step - 4))}
                    height={height}
                  >
                    <title>{`${CLASSES[name]}: ${String(counts[name] ?? 0)}, from ${instant(from)}`}</title>
                  </rect>
                );
              });
            })}
          </svg>
          <table>
            <thead>
              <tr>
                <th scope="col">Class</th>
                <th scope="col">Failures</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((name) => (
                <tr key={name}>
                  <th scope="row">
                    <span class={`swatch class-${name.toLowerCase()}`} aria-hidden="true" /> {CLASSES[name]}
                  </th>
                  <td>{value?.filter((failure) => failure.class === name).length}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Section>
  );
};
