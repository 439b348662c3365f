import type { TaskId } from '@holdpoint/contracts/values/ids';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Client } from '../bus/client.ts';
import type { Watch } from '../bus/watch.ts';

/** Calls when a task may have changed. */
export const watchRun = (client: Client, id: TaskId, onChange: () => void): Promise<Watch> =>
  client.watch(filters.eventsAbout('task', id), onChange);
