/** An executor as the ledger knows it, by the id of its journal. */
export type Instance = {
  /** The number of its transactions with starts in this ledger. The ledger has lost every journal entry above it. */
  readonly position: number;
  /** The generation of the ledger that it last compared its journal with. */
  readonly reconciled: number;
  /** An operator declared its journal lost. */
  readonly forgotten: boolean;
  /** The time of its last sign of life, as the database writes it. */
  readonly seen: string;
  /** It has given none for ten minutes. */
  readonly missing: boolean;
};

/** The ledger's view of itself. A generation lasts until the database is restored or replaced. */
export type LedgerStatus = {
  readonly generation: number;
  /** False when the database was replaced or restarted from a backup since the generation was opened. */
  readonly same: boolean;
  /** Identifies the copy of the data, over restarts of the server. */
  readonly lineage: string;
  /** Bytes of its log when this was read. */
  readonly written: bigint;
  /** Bytes of its log when the server started; 0 when that is not known. */
  readonly began: bigint;
  readonly instances: ReadonlyMap<string, Instance>;
};

/** The executor's own view, read before the ledger's. */
export type JournalPositions = {
  /** The journals that it holds, and the position of each. */
  readonly journals: ReadonlyMap<string, number>;
  /** The last known position of every executor, since the last comparison. */
  readonly seen: ReadonlyMap<string, number>;
};

/** One journal to report to the ledger, from a position on. `partial`: as far as it still has entries. */
export type JournalReplay = { readonly id: string; readonly after: number; readonly partial: boolean };

export type ReconcileStep =
  /** The database may have been restored: every executor has to compare its journal again. */
  | { readonly kind: 'open_generation' }
  | {
      readonly kind: 'replay';
      readonly journals: readonly JournalReplay[];
      readonly register: readonly string[];
    }
  | { readonly kind: 'wait'; readonly waitsFor: readonly string[] }
  | { readonly kind: 'open' };

const isBehind = ({ instances }: LedgerStatus, known: ReadonlyMap<string, number>): boolean =>
  [...known].some(([id, position]) => (instances.get(id)?.position ?? -1) < position);

/** The next step of an executor before effects may start. */
export const nextStep = (status: LedgerStatus, { journals, seen }: JournalPositions): ReconcileStep => {
  const { generation, same, instances } = status;
  if (!same) return { kind: 'open_generation' };
  const due = [...journals.keys()].filter((id) => {
    const instance = instances.get(id);
    return instance === undefined || instance.forgotten || instance.reconciled !== generation;
  });
  if (due.length === 0) {
    // The ledger has less than before, although this generation was compared already.
    if (isBehind(status, journals) || isBehind(status, seen)) return { kind: 'open_generation' };
    const waitsFor = [...instances]
      .filter(([, { forgotten, reconciled }]) => !forgotten && reconciled !== generation)
      .map(([id]) => id);
    return waitsFor.length > 0 ? { kind: 'wait', waitsFor } : { kind: 'open' };
  }
  // An empty journal has nothing to report, so that no executor has to wait for it.
  const missing = [...seen.keys(), ...due.filter((id) => journals.get(id) !== 0)];
  return {
    kind: 'replay',
    register: [...new Set(missing)].filter((id) => !instances.has(id)).toSorted(),
    journals: due.map((id) => ({
      id,
      after: instances.get(id)?.position ?? 0,
      partial: instances.get(id)?.forgotten ?? false,
    })),
  };
};

/**
 * The awaited executors that need no wait, because the ledger has lost nothing of theirs: the server has only restarted. Its
 * log begins where this executor has already read it or later, and they were missing before and have done nothing since.
 */
export const restartedWithout = (
  status: LedgerStatus,
  before: LedgerStatus | undefined,
  waitsFor: readonly string[],
): readonly string[] => {
  if (before === undefined || status.lineage !== before.lineage || status.began < before.written) return [];
  return waitsFor.filter((id) => {
    const [then, now] = [before.instances.get(id), status.instances.get(id)];
    return then?.missing === true && then.position === now?.position && then.seen === now.seen;
  });
};
