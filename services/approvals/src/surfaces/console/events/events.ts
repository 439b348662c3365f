import { CONSOLE_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { BusOverview } from '@holdpoint/runtime/bus/bus-overview';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { ServerResponse } from 'node:http';
import type { SurfaceDeps } from '../../surface-deps.ts';
import { httpErrorOf } from '../../http/http-error.ts';
import { createConnectionLimit } from '../../websocket/connection-limit.ts';
import { type EventStream, openEventStream } from './event-stream.ts';
import { followLines } from './follow-lines.ts';
import { cursorText, followTask, parseCursor } from './follow-task.ts';
import { followTasks } from './follow-tasks.ts';
import { createTaskEvents } from './task-events.ts';

export type EventsParts = {
  readonly deps: SurfaceDeps;
  readonly listener: Pick<Listener, 'call' | 'listen'>;
  readonly look: Pick<BusOverview, 'nextLine'>;
  readonly heartbeatMs: number;
};

/** A client's credentials and the stream that it requests. */
export type StreamRequest = {
  readonly authorization: string | undefined;
  readonly source: string;
  readonly task?: string | undefined;
  /** The last event id that the client has seen. */
  readonly after?: string | undefined;
  readonly log: boolean;
};

/** Streams in total and per person: a browser has one for each tab. */
const STREAMS = { all: 2_000, person: 30 } as const;

/** Cursor of a stream of all tasks that starts now. */
const NOW = 'now';

type Source = { readonly look: () => Promise<void>; readonly stop: () => void };

/** Live events of tasks as server-sent events, while the client's token stays valid. */
export const createEvents = ({ deps, listener, look, heartbeatMs }: EventsParts) => {
  const { identity, log } = deps;
  const taskEvents = createTaskEvents(listener);
  const persons = createConnectionLimit(STREAMS.person);
  const open = new Set<EventStream>();
  let isStopped = false;

  const authenticate = ({ authorization, source }: StreamRequest) =>
    identity.authenticate({ authorization, source }, CONSOLE_SCOPES.events);

  const ofOneTask = (
    stream: EventStream,
    id: TaskId,
    { after, log: withLines }: StreamRequest,
  ): readonly Source[] => {
    const cursor = { ...parseCursor(after) };
    const ready = () => stream.ready();
    const task = followTask({ listener, events: taskEvents }, id, cursor.version, {
      ready,
      onEvent: (fact) => {
        cursor.version = fact.version;
        stream.send({ event: 'event', id: cursorText(cursor), data: fact });
      },
      onReset: (version) => {
        cursor.version = version;
        stream.send({ event: 'reset', id: cursorText(cursor), data: { version } });
      },
    });
    if (!withLines) return [task];
    const lines = followLines({ listener, look }, id, cursor.place, {
      ready,
      onLine: ({ place, ...line }) => {
        cursor.place = place;
        stream.send({ event: 'log', id: cursorText(cursor), data: line });
      },
    });
    return [task, lines];
  };

  const ofAllTasks = (stream: EventStream, { after }: StreamRequest): readonly Source[] => {
    // Missed events are unknown, so the client loads the list again.
    if (after !== undefined && after !== NOW) stream.send({ event: 'reset', data: {} });
    return [{ look: () => Promise.resolve(), ...followTasks(taskEvents, stream.send) }];
  };

  const fail = (stream: EventStream, error: unknown): void => {
    stream.send({ event: 'error', data: httpErrorOf(error, log).body });
    stream.end();
  };

  /** An unavailable source is tried again; any other error ends the stream. */
  const lookAt = async (stream: EventStream, sources: readonly Source[]): Promise<void> => {
    const looked = await Promise.allSettled(sources.map((source) => source.look()));
    for (const each of looked) {
      if (each.status === 'fulfilled') continue;
      const error: unknown = each.reason;
      const code = error instanceof HoldpointError ? error.code : 'RUNTIME_UNAVAILABLE';
      if (code !== 'RUNTIME_UNAVAILABLE' && code !== 'RUNTIME_POISON') return fail(stream, error);
      log.debug(errorFields(error), 'task events are unavailable');
    }
  };

  /** Ends the stream when its token was revoked or has expired, but not when the store is unavailable. */
  const reauthenticate = async (stream: EventStream, wanted: StreamRequest): Promise<void> => {
    try {
      await authenticate(wanted);
    } catch (error) {
      const code = error instanceof HoldpointError ? error.code : undefined;
      if (code !== undefined && code !== 'RUNTIME_UNAVAILABLE') fail(stream, error);
    }
  };

  return {
    /** Answers the request with a stream. Throws `HoldpointError` before anything is written. */
    attend: async (response: ServerResponse, wanted: StreamRequest): Promise<void> => {
      const { name } = await authenticate(wanted);
      const id = wanted.task === undefined ? undefined : parseAs(TaskId, wanted.task);
      if (id !== undefined || wanted.after !== NOW) parseCursor(wanted.after);
      if (isStopped || open.size >= STREAMS.all)
        throw new HoldpointError('RUNTIME_UNAVAILABLE', 'too many event streams; try again later');
      const place = persons.take(name);
      if (place === undefined)
        throw new HoldpointError(
          'APPROVALS_TOO_MANY_ATTEMPTS',
          `at most ${String(STREAMS.person)} streams per person`,
        );

      const stream = openEventStream(response);
      open.add(stream);
      const sources = id === undefined ? ofAllTasks(stream, wanted) : ofOneTask(stream, id, wanted);
      let isLooking = false;
      const lookOnce = async (): Promise<void> => {
        if (isLooking) return;
        isLooking = true;
        await lookAt(stream, sources);
        isLooking = false;
      };
      const heartbeat = setInterval(() => {
        stream.beat();
        void reauthenticate(stream, wanted);
        void lookOnce();
      }, heartbeatMs);
      void stream.ended.then(() => {
        clearInterval(heartbeat);
        for (const source of sources) source.stop();
        open.delete(stream);
        place.release();
      });
      stream.beat();
      void lookOnce();
    },
    streams: (): number => open.size,
    stop: (): void => {
      isStopped = true;
      for (const stream of open) stream.end();
    },
  };
};
export type Events = ReturnType<typeof createEvents>;
