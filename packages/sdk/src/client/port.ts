import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { WorkPort } from '../activation/session/port.ts';
import type { AskService } from '../bus/ask-service.ts';

/** The services of a client. */
export type ClientPort = Pick<WorkPort, 'fetch'> & {
  readonly ask: AskService;
  /** Calls whenever a task may have changed. Resolves once subscribed. */
  readonly watch: (task: string, onChange: () => void) => Promise<() => void>;
  readonly clock: Pick<Clock, 'after'>;
  /** The name of the local user: for the record, unless a token proves a person. */
  readonly user?: string;
};
