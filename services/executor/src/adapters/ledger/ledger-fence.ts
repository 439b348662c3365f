import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { BatchWrite } from '@holdpoint/runtime/engine/ports';
import type { CommitGuard } from '@holdpoint/runtime/store/commit-guard';
import { codeOf } from '@holdpoint/runtime/store/pool';
import { z } from 'zod';
import type { Journal } from '../journal/journal.ts';

const PassedRow = z.object({ position: z.coerce.number().int() });

/** The SQLSTATE that the database function `pass` raises. */
const REFUSED = 'HP001';
/** A generation that never exists. */
const NONE = -1;

/** A commit, and the span between two comparisons with the ledger in which it was requested. */
type Pass = { readonly span: number; readonly position: number };

/**
 * Fence between the ledger and the world. A start commits only in a reconciled ledger, and leaves the process only after it is
 * in the journal.
 */
export const createLedgerFence = (journal: Pick<Journal, 'id' | 'position' | 'reach' | 'append'>) => {
  const refusalHandlers: (() => void)[] = [];
  let generation: number | undefined;
  // A restored ledger reuses generation numbers. Spans never repeat.
  let span = 0;
  let requested = span;
  let passed: Pass | undefined;

  const guard: CommitGuard = {
    statement: ({ events }: BatchWrite) => {
      // A claim that is answered again is journalled again, by the executor that answers it.
      if (!events.some(({ type }) => type === 'started' || type === 'claimed')) return undefined;
      requested = span;
      return {
        name: 'hp_pass',
        text: 'SELECT pass($1, $2, $3)::text AS position',
        values: [journal.id, generation ?? NONE, journal.position()],
      };
    },
    passed: (rows) => {
      const { position } = PassedRow.parse(rows[0]);
      journal.reach(position);
      passed = { span: requested, position };
    },
    isRefusal: (error) => {
      if (codeOf(error) !== REFUSED) return false;
      for (const handle of refusalHandlers) handle();
      return true;
    },
  };

  return {
    guard,
    /** Calls back whenever the ledger refuses a start. */
    onRefusal: (handle: () => void): void => void refusalHandlers.push(handle),
    /** The ledger of this generation was compared with the journal; undefined while none was. */
    trust: (which: number | undefined): void => {
      if (which !== generation) span += 1;
      generation = which;
    },
    /** Must be called synchronously with the notification of the commit, so that the position belongs to that commit. */
    journalStart: (order: RunEffect, epoch: number): Promise<void> => {
      // A commit of an earlier span may be one that a restore has removed from the ledger.
      if (passed?.span !== span || generation === undefined)
        return Promise.reject(new Error('the database was restored after the start was committed'));
      return journal.append(order, epoch, passed.position);
    },
  };
};
export type LedgerFence = ReturnType<typeof createLedgerFence>;
