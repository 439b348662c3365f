import type { BatchWrite } from './ports.ts';

/** What the engine tells of itself; metrics and logs are made from it, tests read it. */
export interface EngineObserver {
  /** `ms`: since the locks were asked for. */
  committed(messages: number, write: BatchWrite, ms: number): void;
  /** A message of this kind is durable so long after it came. */
  handled?(kind: string, ms: number): void;
  /** A batch did not go through and is decided once more. */
  decidedAgain?(reason: 'conflict' | 'commit_unknown'): void;
  batchFailed(messages: number, error: unknown): void;
  timerFailed(aggregate: string, name: string, error: unknown, trace: string | undefined): void;
  publishUnconfirmed(messages: number): void;
  /** It is committed, but whoever sent it, or has to do the work, could not be told. */
  tellingFailed(error: unknown): void;
}
