import type { BatchWrite } from './ports.ts';

/** What the engine tells of itself; metrics and logs are made from it, tests read it. */
export interface EngineObserver {
  committed(messages: number, write: BatchWrite): void;
  batchFailed(messages: number, error: unknown): void;
  timerFailed(aggregate: string, name: string, error: unknown): void;
  publishUnconfirmed(messages: number): void;
  /** It is committed, but whoever sent it, or has to do the work, could not be told. */
  tellingFailed(error: unknown): void;
}
