import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { LogLine } from '@holdpoint/contracts/task/log';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type EventsState, followEvents } from '../live/events.ts';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { createLog, type LogLines } from './log-lines.ts';
import { withEvent } from './replay.ts';

/** Batches frequent events. */
const GATHER_MS = 120;
const PAGE = 500;

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Truncated or foreign.
    return undefined;
  }
};

type TaskUpdate = {
  readonly version: number;
  readonly at?: number;
  readonly type?: string;
  readonly data: HistoryEntry['data'];
};

const entryOf = (message: unknown): HistoryEntry | undefined => {
  const update = message as TaskUpdate | undefined;
  if (typeof update !== 'object' || typeof update.version !== 'number') return undefined;
  const inner = update.data['type'];
  const type = update.type ?? (typeof inner === 'string' ? inner : '');
  return { version: update.version, at: update.at ?? Date.now(), type, data: update.data };
};

/** A task with its history and output, kept up to date. */
export const useTask = (id: string) => {
  const { caller } = useSession();
  const view = useLoad((signal) => caller.ask('orchestrator', 'get', { id }, { signal }), [id]);
  const [events, setEvents] = useState<readonly HistoryEntry[]>([]);
  const [log, setLog] = useState<LogLines>({ lines: [], dropped: 0 });
  const [state, setState] = useState<EventsState>('connecting');
  const history = useRef<readonly HistoryEntry[]>([]);
  const { reload } = view;

  /** Loads the missing history page by page. */
  const fill = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      for (;;) {
        const after = history.current.at(-1)?.version ?? 0;
        const page = await caller.ask('orchestrator', 'history', { id, after, limit: PAGE }, { signal });
        for (const event of page.events)
          history.current = withEvent(history.current, event) ?? history.current;
        if (page.more !== true || page.events.length === 0) return;
      }
    },
    [caller, id],
  );

  useEffect(() => {
    const over = new AbortController();
    const printed = createLog();
    history.current = [];
    setEvents([]);
    setLog(printed.all());
    let gathering: ReturnType<typeof setTimeout> | undefined;
    let hasFacts = false;
    const show = (): void => {
      gathering ??= setTimeout(() => {
        gathering = undefined;
        setLog({ ...printed.all(), lines: [...printed.all().lines] });
        setEvents(history.current);
        if (hasFacts) reload();
        hasFacts = false;
      }, GATHER_MS);
    };
    let filling: Promise<void> | undefined;
    const catchUp = (): void => {
      filling ??= fill(over.signal)
        .catch(() => undefined)
        .finally(() => {
          filling = undefined;
          hasFacts = true;
          if (!over.signal.aborted) show();
        });
    };
    const take = (message: unknown): void => {
      const event = entryOf(message);
      if (event === undefined) return;
      const next = withEvent(history.current, event);
      if (next === undefined) return catchUp();
      hasFacts ||= next !== history.current;
      history.current = next;
      show();
    };
    const following = followEvents(caller, `console/events?task=${encodeURIComponent(id)}&log=1`, undefined, {
      state: setState,
      event: ({ type, data }) => {
        if (type === 'event') take(jsonOf(data));
        else if (type === 'reset') catchUp();
        else if (type === 'log') {
          const line = jsonOf(data) as (LogLine & { node: string }) | undefined;
          if (line !== undefined && printed.take(line)) show();
        }
      },
    });
    catchUp();
    return () => {
      over.abort();
      following.stop();
      clearTimeout(gathering);
    };
  }, [caller, id, fill, reload]);

  return { view, events, log, state };
};
