import type { BatchWrite, StoredEvent } from './ports.ts';

/** Hooks for metrics, logs and tests. */
export interface EngineObserver {
  /** `ms`: since the locks were requested. */
  committed(messages: number, write: BatchWrite, ms: number): void;
  /** The events of a decision, before their commit. The calls of a process have the order of its decisions. */
  decided?(events: readonly StoredEvent[]): void;
  /** The decision on a message of this kind became durable, `ms` after its arrival. */
  handled?(kind: string, ms: number): void;
  /** A batch did not commit and is decided again. */
  retried?(reason: 'conflict' | 'commit_unknown'): void;
  /** A message with a wrong seal became a dead letter. */
  sealRefused?(code: string): void;
  batchFailed(messages: number, error: unknown): void;
  timerFailed(aggregate: string, name: string, error: unknown, trace: string | undefined): void;
  publishUnconfirmed(messages: number): void;
  /** A callback after the commit threw: to the sender, or to the work. */
  callbackFailed(error: unknown): void;
}
