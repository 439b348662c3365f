import { artifactText, criteriaText, reviewText } from '@holdpoint/contracts/approval/facts-text';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { useMemo, useState } from 'preact/hooks';
import { Badge, Busy, Empty, Facts, Problem, Section, When } from '../parts/bits.tsx';
import { Long, Safe, Short } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { span } from '../text/time.ts';
import { Artifacts } from './artifacts.tsx';
import { AttemptsTable } from './attempts.tsx';
import { AuditTrail } from './audit-trail.tsx';
import { eventText, eventWord } from './event-text.ts';
import { LogView } from './log-view.tsx';
import { RemoteEffects } from './remote-effects.tsx';
import { type TaskSnapshot, taskAt } from './replay.ts';
import { TaskActions } from './task-actions.tsx';
import { TaskGraph } from './task-graph.tsx';
import { useTask } from './use-task.ts';
import { CHECKPOINTS, JOBS, PHASES, textFor, wordFor } from '../tasks/labels.ts';

type Node = TaskView['nodes'][number];

/** Duration of each phase. */
const Phases = ({ events }: { readonly events: readonly HistoryEntry[] }) => {
  const turns = useMemo(() => {
    const found: { phase: string; from: number; version: number }[] = [];
    for (const { data, at, version } of events) {
      const phase = data['phase'];
      if (typeof phase === 'string' && found.at(-1)?.phase !== phase)
        found.push({ phase, from: at, version });
    }
    return found;
  }, [events]);
  const end = events.at(-1)?.at ?? 0;
  return (
    <ol class="phases">
      {turns.map(({ phase, from, version }, i) => {
        const until = turns[i + 1]?.from ?? end;
        return (
          <li key={version}>
            <Badge word={wordFor(PHASES, phase)} /> <span class="dim">{span(until - from)}</span>
          </li>
        );
      })}
    </ol>
  );
};

/** The inputs of the submission, if there are any. */
const inputsShown = (inputs: unknown) =>
  typeof inputs === 'object' && inputs !== null && Object.keys(inputs).length > 0 ? (
    <Facts
      rows={Object.entries(inputs).map(([name, value]) => [
        name,
        <Long
          text={typeof value === 'string' ? value : JSON.stringify(value)}
          block={false}
          characters={300}
        />,
      ])}
    />
  ) : undefined;

const EVENTS_SHOWN = 100;

const Timeline = ({ events }: { readonly events: readonly HistoryEntry[] }) => {
  const [count, setCount] = useState(EVENTS_SHOWN);
  return (
    <>
      <Phases events={events} />
      {events.length > count && (
        <button type="button" class="link" onClick={() => setCount(count * 5)}>
          show earlier events ({events.length - count} left)
        </button>
      )}
      <ol class="timeline">
        {events.slice(-count).map((event) => (
          <li key={event.version}>
            <span class="dim">{event.version}</span>
            <When at={event.at} />
            <span>
              <strong>{eventWord(event.type)}</strong>
              {typeof event.data['node'] === 'string' && (
                <>
                  {' '}
                  <code>
                    <Safe text={event.data['node']} />
                  </code>
                </>
              )}{' '}
              <Short text={eventText(event)} max={300} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
};

const Replay = ({
  events,
  version,
  onVersion,
}: {
  readonly events: readonly HistoryEntry[];
  readonly version: number | undefined;
  readonly onVersion: (version: number | undefined) => void;
}) => {
  const last = events.at(-1)?.version ?? 0;
  if (last < 2) return null;
  const shown = version ?? last;
  const event = events.find((each) => each.version === shown);
  return (
    <div class="replay">
      <label>
        Replay
        <input
          type="range"
          min={1}
          max={last}
          value={shown}
          aria-valuetext={`version ${String(shown)} of ${String(last)}: ${event === undefined ? '' : eventWord(event.type)}`}
          onInput={({ currentTarget }) => {
            const chosen = currentTarget.valueAsNumber;
            onVersion(chosen >= last ? undefined : chosen);
          }}
        />
      </label>
      <span role="status">
        {version === undefined ? 'now' : `version ${String(shown)} of ${String(last)}`}
        {event !== undefined && (
          <>
            {': '}
            <Short
              text={[eventWord(event.type), eventText(event)].filter(Boolean).join(': ')}
              max={160}
            />,{' '}
            <When at={event.at} />
          </>
        )}
      </span>
      {version !== undefined && (
        <button type="button" onClick={() => onVersion(undefined)}>
          Back to now
        </button>
      )}
    </div>
  );
};

const NodeDetail = ({
  task,
  node,
  version,
  onDone,
}: {
  readonly task: TaskView;
  readonly node: Node;
  readonly version: number;
  readonly onDone: () => void;
}) => (
  <div class="node-detail">
    <Facts
      rows={[
        [
          'Does',
          <code>
            <Safe text={node.uses} />
          </code>,
        ],
        ['Waits for', node.wait && <Long text={node.wait.detail} block={false} characters={400} />],
        ['Why', node.reason && <Long text={node.reason} block={false} characters={800} />],
        ['Result', node.detail && <Long text={node.detail} block={false} characters={800} />],
        ['Error', node.error && <Long text={node.error.message} block={false} characters={800} />],
        ['Exit code', node.exitCode !== undefined && String(node.exitCode)],
        ['Decision', node.approval && <a href={hrefOf('inbox', node.approval)}>{node.approval}</a>],
        ['Question', node.question && <a href={hrefOf('inbox', node.question)}>{node.question}</a>],
        ['Locks', node.locks && <Safe text={node.locks.join(', ')} />],
        ['Needs', node.needs && <Safe text={node.needs.join(', ')} />],
        ['Gives', node.produces && <Safe text={node.produces.join(', ')} />],
      ]}
    />
    {node.outputs !== undefined && <Long text={JSON.stringify(node.outputs, undefined, 2)} lines={12} />}
    <TaskActions task={task} node={node} version={version} onDone={onDone} />
  </div>
);

const Steps = ({
  task,
  then,
  selected,
  onSelect,
  onDone,
}: {
  readonly task: TaskView;
  readonly then: TaskSnapshot | undefined;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onDone: () => void;
}) => {
  const [count, setCount] = useState(100);
  return (
    <ul class="steps">
      {task.nodes.slice(0, count).map((node) => {
        const old = then?.nodes.get(node.id);
        const isOpen = selected === node.id;
        return (
          <li key={node.id}>
            <button
              type="button"
              class="step"
              aria-expanded={isOpen}
              onClick={() => onSelect(isOpen ? undefined : node.id)}
            >
              <span class="step-name">
                <Short text={node.name ?? node.id} max={80} />
              </span>
              <Badge word={wordFor(JOBS, then === undefined ? node.job : (old?.job ?? 'queued'))} />
              {(old?.attempt ?? node.attempt) > 1 && (
                <span class="dim">attempt {old?.attempt ?? node.attempt}</span>
              )}
            </button>
            {isOpen && (
              <NodeDetail task={task} node={node} version={then?.version ?? task.version} onDone={onDone} />
            )}
          </li>
        );
      })}
      {task.nodes.length > count && (
        <li>
          <button type="button" class="link" onClick={() => setCount(count * 5)}>
            show more steps ({task.nodes.length - count} left)
          </button>
        </li>
      )}
    </ul>
  );
};

const hasResult = ({ job, detail, outputs }: Node): boolean =>
  job === 'succeeded' && (detail !== undefined || Object.keys(outputs ?? {}).length > 0);

/** What the last steps of a task gave, or else the latest step with a result. */
const Outputs = ({ task }: { readonly task: TaskView }) => {
  if (task.phase !== 'completed') return null;
  const ends = task.nodes.filter((node) => task.sinks.includes(node.id) && hasResult(node));
  const latest = task.nodes.findLast(hasResult);
  const last = ends.length > 0 || latest === undefined ? ends : [latest];
  return last.length === 0 ? null : (
    <Section title="Result">
      {last.map(({ id, name, detail, outputs }) => (
        <div key={id}>
          {last.length > 1 && (
            <h4>
              <Safe text={name ?? id} />
            </h4>
          )}
          {detail !== undefined && <Long text={detail} block={false} characters={800} />}
          {outputs !== undefined && Object.keys(outputs).length > 0 && (
            <Long text={JSON.stringify(outputs, undefined, 2)} lines={8} />
          )}
        </div>
      ))}
    </Section>
  );
};

const ASKS = new Set(['approval_requested', 'in_doubt_asked', 'stuck_asked']);

/** The latest requests of a task. */
const approvalsIn = (events: readonly HistoryEntry[]): readonly string[] =>
  [
    ...new Set(
      events.flatMap(({ type, data }) =>
        ASKS.has(type) && typeof data['approval'] === 'string' ? [data['approval']] : [],
      ),
    ),
  ].slice(-50);

const Attempts = ({ id, version }: { readonly id: string; readonly version: number }) => {
  const { caller } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => caller.ask('recovery', 'history', { task: id }, { signal }),
    [id],
    version,
  );
  return (
    <Section
      title="Attempts"
      aside={value && String(value.items.length)}
      open={value !== undefined && value.items.length > 0}
    >
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value?.items.length === 0 && <Empty>No step needed a second attempt.</Empty>}
      {value !== undefined && <AttemptsTable attempts={value.items} />}
    </Section>
  );
};

/** One task: state, history and actions. */
export const TaskPage = ({ id }: { readonly id: string }) => {
  const { view, events, log, state } = useTask(id);
  const [version, setVersion] = useState<number>();
  const [selected, setSelected] = useState<string>();
  const [logNode, setLogNode] = useState('');
  const then = useMemo(
    () => (version === undefined ? undefined : taskAt(events, version)),
    [events, version],
  );
  const approvals = useMemo(() => approvalsIn(events), [events]);
  const { value: task, error, isMissing, reload } = view;
  if (task === undefined)
    return error === undefined ? <Busy /> : <Problem text={error} retry={isMissing ? undefined : reload} />;
  const inputs = events.find(({ version: first }) => first === 1)?.data['inputs'];
  const waiting = task.nodes.filter(({ job }) => job === 'waiting_on_approval' || job === 'escalated');
  return (
    <article class="task" aria-labelledby="task-title">
      <a class="back" href={hrefOf('tasks')}>
        ‹ Tasks
      </a>
      {error !== undefined && <Problem text={error} retry={reload} />}
      <h2 id="task-title" tabIndex={-1}>
        <Short text={task.goal} max={200} />
      </h2>
      <p class="badges">
        <Badge word={wordFor(PHASES, then?.phase ?? task.phase)} />
        <code>{task.id}</code>
        <span class={`live ${state}`}>
          {state === 'live' ? 'live' : state === 'lost' ? 'reconnecting …' : 'connecting …'}
        </span>
      </p>
      {waiting.map((node) => {
        const request = node.question ?? node.approval;
        return (
          <p key={node.id} class="note waits">
            <strong>
              <Safe text={node.name ?? node.id} />
            </strong>{' '}
            {wordFor(JOBS, node.job)[0].toLowerCase()}
            {node.wait && (
              <>
                {' '}
                (<Short text={node.wait.detail} />)
              </>
            )}
            . {request !== undefined && <a href={hrefOf('inbox', request)}>Decide</a>}
          </p>
        );
      })}
      {task.error !== undefined && <Problem text={task.error.message} />}
      <TaskActions task={task} version={version ?? task.version} onDone={reload} />
      <Outputs task={task} />
      <Section title="Workflow">
        <Replay events={events} version={version} onVersion={setVersion} />
        <TaskGraph task={task} events={events} then={then} selected={selected} onSelect={setSelected} />
        <Steps task={task} then={then} selected={selected} onSelect={setSelected} onDone={reload} />
      </Section>
      <Section title="About">
        <Facts
          rows={[
            ['Goal', task.goal.length > 200 && <Long text={task.goal} block={false} characters={1_000} />],
            [
              'Acceptance criteria',
              task.acceptanceCriteria && (
                <Long text={criteriaText(task.acceptanceCriteria)} block={false} characters={1_000} />
              ),
            ],
            [
              'Spec review',
              task.reviews?.spec && <Long text={reviewText(task.reviews.spec)} block={false} />,
            ],
            [
              'Quality review',
              task.reviews?.quality && <Long text={reviewText(task.reviews.quality)} block={false} />,
            ],
            ['Latest artifact', task.artifact && <Safe text={artifactText(task.artifact)} />],
            [
              'On behalf of',
              task.onBehalfOf && (
                <a href={hrefOf('tasks', task.onBehalfOf.task)}>
                  {task.onBehalfOf.task} / <Safe text={task.onBehalfOf.node} />
                </a>
              ),
            ],
            ['Inputs', inputsShown(inputs)],
            ['Workflow', <Safe text={task.selector ?? task.workflow} />],
            ['Requested by', <Safe text={task.requestedBy} />],
            ['Repository', task.repository && <Safe text={task.repository} />],
            ['Waits for', task.after && task.after.length > 0 && <Safe text={task.after.join(', ')} />],
            ['Blocked by circuit', task.circuit && <Safe text={task.circuit} />],
            ['Used', task.spent?.costUsd !== undefined && `${task.spent.costUsd.toFixed(2)} USD`],
            ['Version', String(task.version)],
          ]}
        />
      </Section>
      <Section title="Timeline" open={false} aside={String(events.length)}>
        <Timeline events={events} />
      </Section>
      <Section
        title="Live log"
        open={log.lines.length > 0}
        aside={log.lines.length > 0 ? String(log.lines.length + log.dropped) : undefined}
      >
        <LogView
          log={log}
          state={state}
          node={logNode}
          nodes={task.nodes.map((node) => node.id)}
          onNode={setLogNode}
        />
      </Section>
      <RemoteEffects task={task} />
      <Attempts id={task.id} version={task.version} />
      <Artifacts task={task.id} version={task.version} />
      <Section title="Checkpoints" open={false} aside={String(task.checkpoints?.length ?? 0)}>
        {(task.checkpoints ?? []).length === 0 && <Empty>None.</Empty>}
        <ol class="plain">
          {task.checkpoints?.map(({ kind, node, attempt, name, reason, payload }, i) => (
            <li key={i}>
              <strong>{textFor(CHECKPOINTS, kind)}</strong>
              {name !== undefined && (
                <>
                  {' '}
                  (<Safe text={name} />)
                </>
              )}
              : <Safe text={node} />, attempt {attempt}. <Short text={reason} max={400} />
              {payload !== undefined && (
                <>
                  {' '}
                  <code>
                    <Short text={JSON.stringify(payload)} max={400} />
                  </code>
                </>
              )}
            </li>
          ))}
        </ol>
      </Section>
      <AuditTrail approvals={events.length > 0 ? approvals : undefined} version={task.version} />
    </article>
  );
};
