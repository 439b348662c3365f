import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Listener } from '@holdpoint/runtime/bus/listener';

/** An event of a task from the orchestrator, or a message about one from the bus, where `changed` stands for internal ones. */
export type TaskEvent = {
  readonly subject: string;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly data: JsonObject;
};

export type TaskEvents = {
  /** Messages about all tasks from now on: possibly duplicated, out of order, or missing. */
  readonly subscribe: (listen: (event: TaskEvent) => void) => { readonly stop: () => void };
};

const numberIn = (text: string | undefined, read: (text: string) => number): number | undefined => {
  const number = text === undefined ? undefined : read(text);
  return Number.isSafeInteger(number) ? number : undefined;
};

/** One bus subscription, shared by all streams while there are any. */
export const createTaskEvents = (listener: Pick<Listener, 'listen'>): TaskEvents => {
  const members = new Set<(event: TaskEvent) => void>();
  let listening: ReturnType<Listener['listen']> | undefined;

  const take: Parameters<Listener['listen']>[1] = (subject, body, header) => {
    const [, , , type = '', id = ''] = subject.split('.');
    const version = numberIn(header(HEADERS.version), Number);
    const at = numberIn(header(HEADERS.time), Date.parse);
    const data = JsonObject.safeParse(body);
    // Messages without a version are no stored events.
    if (version === undefined || at === undefined || !data.success) return;
    for (const listen of members) listen({ subject, id, type, version, at, data: data.data });
  };

  return {
    subscribe: (listen) => {
      members.add(listen);
      listening ??= listener.listen([filters.eventsOf('task')], take);
      return {
        stop: () => {
          members.delete(listen);
          if (members.size > 0) return;
          listening?.stop();
          listening = undefined;
        },
      };
    },
  };
};
