import type { BatchWrite } from '../engine/ports.ts';
import type { Statement } from './statements.ts';

/** A condition that must hold in the transaction that commits a batch. */
export interface CommitGuard {
  /**
   * A statement that raises an error when the condition does not hold; undefined when the batch needs no
   * check.
   */
  statement(write: BatchWrite): (Statement & { readonly values: readonly unknown[] }) | undefined;
  /** Called with the rows of the statement after the commit. */
  passed(rows: readonly unknown[]): void;
  /** Whether the error comes from this statement. The batch is then decided again. */
  isRefusal(error: unknown): boolean;
  /** The error that a refusal leads to. Left out: a conflict, so that the batch is decided again. */
  refusal?(cause: unknown): Error;
}
