import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { BatchWrite } from '@holdpoint/runtime/engine/ports';
import type { CommitGuard } from '@holdpoint/runtime/store/commit-guard';
import { codeOf } from '@holdpoint/runtime/store/pool';
import { z } from 'zod';
import type { Journal } from '../journal/journal.ts';

const Passed = z.object({ position: z.coerce.number().int() });

/** What the function `pass` raises. */
const UNMET = 'HP001';
/** A generation that there never is. */
const NONE = -1;

/** A commit, and the span in which it was asked for: from one comparison with the ledger to the next. */
type Pass = { readonly span: number; readonly position: number };

/**
 * Between the ledger and the world: a start commits only in a ledger that has been reconciled, and leaves the process only
 * once it stands in the journal.
 */
export const createLedgerFence = (
  journal: Pick<Journal, 'id' | 'position' | 'reach' | 'append'>,
  refused: () => void,
) => {
  let generation: number | undefined;
  // Generations are numbered by the ledger, and a number comes again when the ledger is set back. Spans do not.
  let span = 0;
  let asked = span;
  let passed: Pass | undefined;

  const condition: CommitGuard = {
    statement: ({ events }: BatchWrite) => {
      if (!events.some(({ type }) => type === 'started')) return undefined;
      asked = span;
      return {
        name: 'hp_pass',
        text: 'SELECT pass($1, $2, $3)::text AS position',
        values: [journal.id, generation ?? NONE, journal.position()],
      };
    },
    passed: (rows) => {
      const { position } = Passed.parse(rows[0]);
      journal.reach(position);
      passed = { span: asked, position };
    },
    isRefusal: (error) => {
      if (codeOf(error) !== UNMET) return false;
      refused();
      return true;
    },
  };

  return {
    condition,
    /** The ledger of this generation is the one that was compared with the journal; undefined while none is. */
    trust: (which: number | undefined): void => {
      if (which !== generation) span += 1;
      generation = which;
    },
    /** Called in the same step as the commit is told of, so that the position is the one of that commit. */
    journalStart: (order: RunEffect, epoch: number): Promise<void> => {
      // A commit that is heard of only now may be one that the ledger has lost since, behind the back of the journal.
      if (passed?.span !== span || generation === undefined)
        return Promise.reject(new Error('the ledger was set back after the start was committed'));
      return journal.append(order, epoch, passed.position);
    },
  };
};
export type LedgerFence = ReturnType<typeof createLedgerFence>;
