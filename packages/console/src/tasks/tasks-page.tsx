import type { TaskSummary } from '@holdpoint/contracts/task/queries';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { followEvents } from '../live/events.ts';
import { Badge, Busy, Empty, Problem, When } from '../parts/bits.tsx';
import { Short } from '../parts/safe.tsx';
import { moveAmong, useKeys } from '../parts/use-keys.ts';
import { useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { span } from '../text/time.ts';
import { NewTask } from '../new-task/new-task.tsx';
import { askedFor, endOf, NO_FILTER, type TaskFilter } from './task-filter.ts';
import { TaskFilters } from './task-filters.tsx';
import { TaskPage } from '../task/task-page.tsx';
import { PHASES, wordFor } from './labels.ts';

const PAGE = 50;
/** Limits reloads on a busy system. */
const RELOAD_AT_MOST_EVERY_MS = 1_000;

const Row = ({ task, isOpen }: { readonly task: TaskSummary; readonly isOpen: boolean }) => (
  <li class={isOpen ? 'row-item open' : 'row-item'}>
    <a href={hrefOf('tasks', task.id)} aria-current={isOpen ? 'true' : undefined}>
      <span class="row-title">
        <Short text={task.goal} max={120} />
      </span>
      <span class="row-sub">
        <Short text={task.workflow} max={60} /> · {task.id}
        {task.requestedBy !== undefined && (
          <>
            {' '}
            · <Short text={task.requestedBy} max={40} />
          </>
        )}
      </span>
      <span class="row-meta">
        <Badge word={wordFor(PHASES, task.phase)} />
        <When at={task.createdAt} />
        {task.finishedAt !== undefined && <span>took {span(task.finishedAt - task.createdAt)}</span>}
      </span>
    </a>
  </li>
);

const TaskList = ({ openId }: { readonly openId: string | undefined }) => {
  const { caller } = useSession();
  const [filter, setFilter] = useState(NO_FILTER);
  // Cursors of the visited pages: going back needs no search.
  const [keys, setKeys] = useState<readonly string[]>([]);
  const after = keys.at(-1);
  const { value, error, reload } = useLoad(
    (signal) =>
      caller.ask(
        'orchestrator',
        'list',
        { limit: PAGE, ...askedFor(filter, Date.now()), ...(after !== undefined && { after }) },
        { signal },
      ),
    [filter, after],
  );
  const onFilter = useCallback((next: TaskFilter) => {
    setKeys([]);
    setFilter(next);
  }, []);
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
  const shown = value?.items ?? [];
  const end = value && endOf(shown.length, shown.length === PAGE, value.next !== undefined);
  const ids = shown.map(({ id }) => id);
  useKeys({
    j: () => moveAmong('tasks', ids, 1),
    k: () => moveAmong('tasks', ids, -1),
    '/': () => document.querySelector<HTMLInputElement>('#task-search')?.focus(),
    Escape: () => {
      location.hash = hrefOf('tasks');
    },
  });
  return (
    <>
      <TaskFilters onChange={onFilter} />
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      <ul class="rows">
        {shown.map((task) => (
          <Row key={task.id} task={task} isOpen={task.id === openId} />
        ))}
      </ul>
      {end !== undefined && <Empty>{end}</Empty>}
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

/** Route of the form: not a valid task ID. */
const NEW = '~new';

const Begin = () => {
  const { me } = useSession();
  const allowed = mayDo(me, 'tasks:submit');
  const begin = (): void => {
    if (allowed) location.hash = hrefOf('tasks', NEW);
  };
  useKeys({ n: begin });
  return allowed ? (
    <div class="filters begin">
      <a class="button" href={hrefOf('tasks', NEW)}>
        New task
      </a>
    </div>
  ) : null;
};

const Detail = ({ id }: { readonly id: string | undefined }) => {
  if (id === undefined) return <Empty>Choose a task.</Empty>;
  return id === NEW ? <NewTask /> : <TaskPage key={id} id={id} />;
};

/** The list of tasks, with one task beside it. */
export const TasksPage = ({ rest: [id] }: { readonly rest: readonly string[] }) => (
  <div class={id === undefined ? 'split' : 'split has-open'}>
    <section class="pane list" aria-label="Tasks">
      <Begin />
      <TaskList openId={id} />
    </section>
    <section class="pane detail" aria-label="Task">
      <Detail id={id} />
    </section>
  </div>
);
