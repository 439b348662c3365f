import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { TaskEvent } from '@holdpoint/contracts/task/events';

/** What a client goes by: the events of programs, and of those that all tasks share the ones that end it. */
export type ClientEvent =
  | ProgramEvent
  | Extract<TaskEvent, { readonly type: 'completed' | 'failed' | 'cancelled' }>;

/** An event as it was recorded, if it is one of those; one of a newer service is not known here. */
export const clientEventOf = ({ type, data }: HistoryEntry): ClientEvent | undefined => {
  const event = { ...data, type };
  const own = ProgramEvent.safeParse(event);
  if (own.success) return own.data;
  if (type !== 'completed' && type !== 'failed' && type !== 'cancelled') return undefined;
  const shared = TaskEvent.safeParse(event);
  return shared.success ? (shared.data as ClientEvent) : undefined;
};
