import type { CircuitView } from '@holdpoint/contracts/recovery/circuit';
import type { StuckJob } from '@holdpoint/contracts/recovery/views';
import { useState } from 'preact/hooks';
import { Badge, Busy, Empty, Facts, Problem, Section, When } from '../parts/bits.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Long, Safe, Short } from '../parts/safe.tsx';
import { textOfError, useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { CIRCUITS, CLASSES, textFor, wordFor } from '../tasks/labels.ts';
import { ClassChart } from './class-chart.tsx';

const StuckReport = ({ job }: { readonly job: StuckJob }) => {
  const { caller } = useSession();
  const { task, node } = job;
  const { value, error, reload } = useLoad(
    async (signal) => {
      const [{ report }, view] = await Promise.all([
        caller.ask('recovery', 'report', { task, node }, { signal }),
        caller.ask('orchestrator', 'get', { id: task }, { signal }),
      ]);
      return { report, question: view.nodes.find(({ id }) => id === node)?.question };
    },
    [task, node],
  );
  if (value === undefined) return error === undefined ? <Busy /> : <Problem text={error} retry={reload} />;
  return (
    <div class="report">
      {value.question !== undefined && (
        <p>
          <a class="button" href={hrefOf('inbox', value.question)}>
            Decide how it continues
          </a>
        </p>
      )}
      <Markdown text={value.report} />
    </div>
  );
};

const Stuck = () => {
  const { caller } = useSession();
  const [keys, setKeys] = useState<readonly string[]>([]);
  const [open, setOpen] = useState<string>();
  const after = keys.at(-1);
  const { value, error, reload } = useLoad(
    (signal) =>
      caller.ask('recovery', 'stuck', { limit: 50, ...(after !== undefined && { after }) }, { signal }),
    [after],
  );
  return (
    <Section
      title="Stuck jobs"
      aside={value && `${String(value.items.length)}${value.next === undefined ? '' : '+'}`}
    >
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value?.items.length === 0 && <Empty>No stuck jobs.</Empty>}
      <ul class="steps">
        {value?.items.map((job) => {
          const name = `${job.task}/${job.node}`;
          return (
            <li key={name}>
              <button
                type="button"
                class="step"
                aria-expanded={open === name}
                onClick={() => setOpen(open === name ? undefined : name)}
              >
                <span class="step-name">
                  <Short text={job.goal ?? name} max={90} />
                </span>
                <Badge word={[textFor(CLASSES, job.class), 'bad']} />
              </button>
              <Facts
                rows={[
                  [
                    'Job',
                    <a href={hrefOf('tasks', job.task)}>
                      {job.task} / <Safe text={job.node} />
                    </a>,
                  ],
                  ['Why', <Long text={job.reason} block={false} characters={300} />],
                  ['Since', <When at={job.since} />],
                  ['Attempts', String(job.attempts)],
                ]}
              />
              {open === name && <StuckReport job={job} />}
            </li>
          );
        })}
      </ul>
      {(keys.length > 0 || value?.next !== undefined) && (
        <div class="row pager">
          <button type="button" disabled={keys.length === 0} onClick={() => setKeys(keys.slice(0, -1))}>
            ‹ Back
          </button>
          <button
            type="button"
            disabled={value?.next === undefined}
            onClick={() => value?.next !== undefined && setKeys([...keys, value.next])}
          >
            More ›
          </button>
        </div>
      )}
    </Section>
  );
};

const Circuit = ({ circuit, onDone }: { readonly circuit: CircuitView; readonly onDone: () => void }) => {
  const { caller, me, say } = useSession();
  const [isAsked, setAsked] = useState(false);
  const to = circuit.state === 'closed' ? 'open' : 'closed';
  const send = async (): Promise<void> => {
    try {
      await caller.ask('recovery', 'circuit', { target: circuit.target, state: to });
      say(to === 'open' ? 'Circuit opened.' : 'Circuit closed.', 'good');
    } catch (error) {
      say(textOfError(error), 'bad');
    } finally {
      setAsked(false);
      onDone();
    }
  };
  return (
    <li>
      <p>
        <strong>
          <Safe text={circuit.target} />
        </strong>{' '}
        <Badge word={wordFor(CIRCUITS, circuit.state)} />
      </p>
      <Facts
        rows={[
          ['Why', circuit.reason && <Safe text={circuit.reason} />],
          ['By', <Safe text={circuit.by} />],
          ['Retried', circuit.until !== undefined && <When at={circuit.until} />],
        ]}
      />
      {mayDo(me, 'operations:write') && (
        <div class="row">
          {isAsked ? (
            <>
              <button type="button" class="primary" onClick={() => void send()}>
                Confirm: {to === 'open' ? 'block it until you close the circuit' : 'use it again'}
              </button>
              <button type="button" onClick={() => setAsked(false)}>
                Back
              </button>
            </>
          ) : (
            <button type="button" onClick={() => setAsked(true)}>
              {to === 'open' ? 'Open circuit' : 'Close circuit'}
            </button>
          )}
        </div>
      )}
    </li>
  );
};

const Circuits = () => {
  const { caller } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => caller.ask('recovery', 'circuits', { limit: 200 }, { signal }),
    [],
  );
  return (
    <Section title="Circuit breakers" aside={value && String(value.items.length)}>
      <p class="hint">Targets that are blocked after too many failures, or were blocked before.</p>
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value?.items.length === 0 && <Empty>No circuit was ever open.</Empty>}
      <ul class="plain">
        {value?.items.map((circuit) => (
          <Circuit key={circuit.id} circuit={circuit} onDone={reload} />
        ))}
      </ul>
    </Section>
  );
};

export const RecoveryPage = () => (
  <div class="single">
    <h2 tabIndex={-1}>Recovery</h2>
    <Stuck />
    <Circuits />
    <ClassChart />
  </div>
);
