/** An executor as the ledger knows it, by the name of its journal. */
export type Instance = {
  /** Its transactions with starts that this ledger holds: what its journal notes above that, the ledger has lost. */
  readonly position: number;
  /** The generation whose ledger it has compared its journal with. */
  readonly reconciled: number;
  /** An operator said that its journal is gone. */
  readonly forgotten: boolean;
};

/** The ledger's standing. A generation lasts as long as the ledger only goes forward. */
export type Standing = {
  readonly generation: number;
  /** False when the database is not the one, or not in the life, that the generation was opened for. */
  readonly same: boolean;
  readonly instances: ReadonlyMap<string, Instance>;
};

/** What an executor knows by itself, as it was before it looked at the ledger. */
export type Known = {
  /** The journals that it holds, and how far each reaches. */
  readonly journals: ReadonlyMap<string, number>;
  /** The last that it saw of everybody, since it last compared its journal. */
  readonly seen: ReadonlyMap<string, number>;
};

export type Bring = { readonly id: string; readonly after: number; readonly asFarAsItGoes: boolean };

export type Step =
  /** The ledger was set back, or may have been: everybody has to compare again. */
  | { readonly kind: 'open_generation' }
  | { readonly kind: 'bring'; readonly journals: readonly Bring[]; readonly register: readonly string[] }
  | { readonly kind: 'wait'; readonly waitsFor: readonly string[] }
  | { readonly kind: 'go' };

const isBehind = ({ instances }: Standing, known: ReadonlyMap<string, number>): boolean =>
  [...known].some(([id, position]) => (instances.get(id)?.position ?? -1) < position);

/** What is left to do before an effect may start. */
export const nextStep = (standing: Standing, { journals, seen }: Known): Step => {
  const { generation, same, instances } = standing;
  if (!same) return { kind: 'open_generation' };
  const due = [...journals.keys()].filter((id) => {
    const instance = instances.get(id);
    return instance === undefined || instance.forgotten || instance.reconciled !== generation;
  });
  if (due.length === 0) {
    // Compared with already, and yet less than was seen of it.
    if (isBehind(standing, journals) || isBehind(standing, seen)) return { kind: 'open_generation' };
    const waitsFor = [...instances]
      .filter(([, { forgotten, reconciled }]) => !forgotten && reconciled !== generation)
      .map(([id]) => id);
    return waitsFor.length > 0 ? { kind: 'wait', waitsFor } : { kind: 'go' };
  }
  // A journal without a line has nothing to bring, so that nobody has to wait for it.
  const missing = [...seen.keys(), ...due.filter((id) => journals.get(id) !== 0)];
  return {
    kind: 'bring',
    register: [...new Set(missing)].filter((id) => !instances.has(id)).toSorted(),
    journals: due.map((id) => ({
      id,
      after: instances.get(id)?.position ?? 0,
      asFarAsItGoes: instances.get(id)?.forgotten ?? false,
    })),
  };
};
