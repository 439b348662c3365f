import type { TaskId } from '@holdpoint/contracts/ids';
import { filters } from '@holdpoint/contracts/subjects';
import type { Client } from '../client.ts';
import type { Watch } from '../watch.ts';

/** Calls whenever something may have happened to a run; what it is has to be asked. */
export const watchRun = (client: Client, id: TaskId, onChange: () => void): Promise<Watch> =>
  client.watch(filters.factsAbout('task', id), onChange, { onError: onChange });
