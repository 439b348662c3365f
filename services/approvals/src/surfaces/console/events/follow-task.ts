import { api, type ApiResponse } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { errorFrom } from '../../http/forward.ts';
import type { TaskEvent, TaskEvents } from './task-events.ts';

type Page = ApiResponse<'orchestrator', 'history'>;

export type TaskFollower = {
  /** Events without gaps and in order, each once. */
  readonly onEvent: (event: TaskEvent) => void;
  /**
   * The task was restored to fewer events: events after `version` may not have happened, and the next ones
   * follow it.
   */
  readonly onReset: (version: number) => void;
  /** Resolves to true once it can take more, and to false when it has ended. */
  readonly ready: () => Promise<boolean>;
};

export type Following = {
  /** Reads the events that are missing. Throws `HoldpointError`. */
  readonly look: () => Promise<void>;
  readonly stop: () => void;
};

const PAGE = 200;

const readPage = async (listener: Pick<Listener, 'call'>, id: TaskId, after: number): Promise<Page> => {
  const answer = await listener.call('orchestrator', 'history', { id, after, limit: PAGE });
  if ('error' in answer) throw errorFrom(answer.error);
  return parseAs(api.orchestrator.history.response, answer.ok);
};

/**
 * Follows one task from a version on. The orchestrator has its events; a message on the bus says that there are more. The
 * caller runs `look` once at the start, and periodically, because messages may be lost.
 */
export const followTask = (
  { listener, events }: { readonly listener: Pick<Listener, 'call'>; readonly events: TaskEvents },
  id: TaskId,
  from: number,
  follower: TaskFollower,
): Following => {
  let version = from;
  let looking: Promise<void> | undefined;
  let wanted = false;

  const readOn = async (): Promise<void> => {
    for (let more = true; more && (await follower.ready());) {
      const page = await readPage(listener, id, version);
      const head = page.version ?? version;
      if (head < version) {
        version = head;
        follower.onReset(head);
      }
      for (const { version: each, at, type, data } of page.events) {
        if (each !== version + 1) continue;
        version = each;
        follower.onEvent({ subject: subjects.event('task', type, id), id, type, version: each, at, data });
      }
      more = page.more === true && page.events.length > 0;
    }
  };

  const look = async (): Promise<void> => {
    wanted = true;
    looking ??= (async () => {
      try {
        while (wanted) {
          wanted = false;
          await readOn();
        }
      } finally {
        looking = undefined;
      }
    })();
    return looking;
  };

  const hearing = events.subscribe((event) => {
    if (event.id !== (id as string) || event.version <= version) return;
    // The periodic read reports the error.
    look().catch(() => undefined);
  });

  return { look, stop: hearing.stop };
};

/** Version of the task, and position of its output lines, to resume from. */
export type Cursor = { readonly version: number; readonly place: number };

const CURSOR = /^(?<version>\d{1,15})(?:\.(?<place>\d{1,15}))?$/;

/** Throws `CONTRACT_INVALID`. */
export const parseCursor = (text: string | undefined): Cursor => {
  if (text === undefined) return { version: 0, place: 0 };
  const { version, place = '0' } = CURSOR.exec(text)?.groups ?? {};
  if (version === undefined) throw new HoldpointError('CONTRACT_INVALID', 'after: not an event id');
  return { version: Number(version), place: Number(place) };
};

export const cursorText = ({ version, place }: Cursor): string => `${String(version)}.${String(place)}`;
