import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { type EndPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import { TaskEvent } from '@holdpoint/contracts/task/events';

/** The events that clients use: those of programs, and the ends of all tasks. */
export type ClientEvent = ProgramEvent | Extract<TaskEvent, { readonly type: EndPhase }>;

/** Parses a recorded event; undefined for other events, including those of newer services. */
export const clientEventOf = ({ type, data }: HistoryEntry): ClientEvent | undefined => {
  const event = { ...data, type };
  const own = ProgramEvent.safeParse(event);
  if (own.success) return own.data;
  if (!isEndPhase(type)) return undefined;
  const shared = TaskEvent.safeParse(event);
  return shared.success ? (shared.data as ClientEvent) : undefined;
};
