import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { WorkPort } from '../activation/session/port.ts';
import type { AskService } from '../bus/ask-service.ts';

/** The services of a client. */
export type ClientPort = Pick<WorkPort, 'fetch'> & {
  readonly ask: AskService;
  /**
   * Subscribes to the events of a task; `undefined` stands for an unreadable one. Resolves once subscribed.
   */
  readonly watch: (task: string, onFact: (fact: HistoryEntry | undefined) => void) => Promise<() => void>;
  readonly clock: Pick<Clock, 'after'>;
};
