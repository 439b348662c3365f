import type { TaskSummary } from '@holdpoint/contracts/catalog';
import type { TaskPhase } from '@holdpoint/contracts/task';
import { useEffect, useRef, useState } from 'preact/hooks';
import { followEvents } from '../live/events.ts';
import { Badge, Busy, Empty, Problem, When } from '../parts/bits.tsx';
import { Short } from '../parts/safe.tsx';
import { useKeys } from '../parts/use-keys.ts';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { TaskPage } from './task-page.tsx';
import { PHASES, wordFor } from './words.ts';

const PAGE = 50;
/** A busy system is not listed anew for each of its events. */
const RELOAD_AT_MOST_EVERY_MS = 1_000;

const Row = ({ task, isOpen }: { readonly task: TaskSummary; readonly isOpen: boolean }) => (
  <li class={isOpen ? 'row-item open' : 'row-item'}>
    <a href={hrefOf('tasks', task.id)} aria-current={isOpen ? 'true' : undefined}>
      <span class="row-title">
        <Short text={task.goal} max={120} />
      </span>
      <span class="row-sub">
        <Short text={task.workflow} max={60} /> · {task.id}
      </span>
      <span class="row-meta">
        <Badge word={wordFor(PHASES, task.phase)} />
        <When at={task.createdAt} />
      </span>
    </a>
  </li>
);

const TaskList = ({ openId }: { readonly openId: string | undefined }) => {
  const { caller } = useSession();
  const [phase, setPhase] = useState<TaskPhase | ''>('');
  const [words, setWords] = useState('');
  // The keys that led to each page: back is as fast as on, however many tasks there are.
  const [keys, setKeys] = useState<readonly string[]>([]);
  const after = keys.at(-1);
  const { value, error, reload } = useLoad(
    (signal) =>
      caller.ask(
        'orchestrator',
        'list',
        { limit: PAGE, ...(phase !== '' && { phase }), ...(after !== undefined && { after }) },
        { signal },
      ),
    [phase, after],
  );
  const isFirst = after === undefined;
  const pending = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (!isFirst) return;
    const following = followEvents(caller, 'console/events?after=now', undefined, {
      state: () => undefined,
      event: () => {
        pending.current ??= setTimeout(() => {
          pending.current = undefined;
          reload();
        }, RELOAD_AT_MOST_EVERY_MS);
      },
    });
    return () => {
      following.stop();
      clearTimeout(pending.current);
      pending.current = undefined;
    };
  }, [caller, isFirst, reload]);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const items = value?.items ?? [];
  const shown = items.filter((task) => {
    const text = `${task.goal} ${task.workflow} ${task.id}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const move = (by: number): void => {
    const at = shown.findIndex(({ id }) => id === openId);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) location.hash = hrefOf('tasks', next.id);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    '/': () => document.querySelector<HTMLInputElement>('#task-search')?.focus(),
    Escape: () => {
      location.hash = hrefOf('tasks');
    },
  });
  return (
    <>
      <div class="filters">
        <input
          id="task-search"
          type="search"
          placeholder="Find on this page, or open by id"
          aria-label="Find on this page, or open a task by its id"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
          onKeyDown={({ key }) => {
            if (key === 'Enter' && /^t-[\w-]+$/.test(words.trim()))
              location.hash = hrefOf('tasks', words.trim());
          }}
        />
        <select
          aria-label="State"
          value={phase}
          onChange={({ currentTarget }) => {
            setKeys([]);
            setPhase(currentTarget.value as TaskPhase | '');
          }}
        >
          <option value="">Any state</option>
          {Object.entries(PHASES).map(([name, [word]]) => (
            <option key={name} value={name}>
              {word}
            </option>
          ))}
        </select>
      </div>
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value !== undefined && shown.length === 0 && <Empty>No tasks here.</Empty>}
      <ul class="rows">
        {shown.map((task) => (
          <Row key={task.id} task={task} isOpen={task.id === openId} />
        ))}
      </ul>
      <div class="row pager">
        <button type="button" disabled={isFirst} onClick={() => setKeys(keys.slice(0, -1))}>
          ‹ Newer
        </button>
        <span class="hint">page {keys.length + 1}</span>
        <button
          type="button"
          disabled={value?.next === undefined}
          onClick={() => value?.next !== undefined && setKeys([...keys, value.next])}
        >
          Older ›
        </button>
      </div>
    </>
  );
};

/** All tasks, and one of them beside the list. */
export const TasksPage = ({ rest: [id] }: { readonly rest: readonly string[] }) => (
  <div class={id === undefined ? 'split' : 'split has-open'}>
    <section class="pane list" aria-label="Tasks">
      <TaskList openId={id} />
    </section>
    <section class="pane detail" aria-label="Task">
      {id === undefined ? <Empty>Choose a task.</Empty> : <TaskPage key={id} id={id} />}
    </section>
  </div>
);
