import type { BatchWrite } from '../engine/ports.ts';
import type { Statement } from './statements.ts';

/** What has to hold in the very transaction that commits a batch. */
export interface CommitGuard {
  /** A statement that raises an error where it does not hold; undefined where the batch needs none. */
  statement(write: BatchWrite): (Statement & { readonly values: readonly unknown[] }) | undefined;
  /** What the statement answered, once the batch is committed. */
  passed(rows: readonly unknown[]): void;
  /** Whether an error is the statement's own. The batch is then decided again, on what holds by then. */
  isRefusal(error: unknown): boolean;
}
