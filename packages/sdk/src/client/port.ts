import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { WorkPort } from '../activation/session/port.ts';
import type { AskService } from '../bus/ask-service.ts';

/** The world as a client sees it. */
export type ClientPort = Pick<WorkPort, 'fetch'> & {
  readonly ask: AskService;
  /** Facts of a task as they come; undefined: there is something, and it could not be read. Resolves once it listens. */
  readonly watch: (task: string, onFact: (fact: HistoryEntry | undefined) => void) => Promise<() => void>;
  readonly clock: Pick<Clock, 'after'>;
};
