import type { AppliedRecord, Flavour, LedgerRecord, RequestRecord } from './ledger.ts';

export type Incoming = Pick<RequestRecord, 'n' | 'flavour' | 'path' | 'key' | 'epoch'> & {
  readonly digest: string;
};

/** The decision of a target, without its time. */
export type Verdict =
  | { readonly type: 'applied' }
  | { readonly type: 'repeated'; readonly key: string; readonly of: number }
  | { readonly type: 'refused'; readonly status: number };

export type Memory = {
  readonly note: (record: LedgerRecord) => void;
  readonly requests: () => number;
  readonly applications: () => number;
  /** Counts one more request with this key or path. */
  readonly arrive: (identity: string) => number;
  readonly held: () => ReadonlyMap<number, { readonly request: RequestRecord; readonly until: string }>;
  readonly isApplied: (flavour: Flavour, key: string) => boolean;
  readonly fence: (key: string) => number;
  readonly judge: (request: Incoming, now: number) => Verdict;
};

/** The key, or the path without one. */
export const identityOf = ({ key, path }: Pick<RequestRecord, 'key' | 'path'>): string => key ?? path;

/** The targets' memory, rebuilt from the ledger at each start. */
export const createMemory = (keyWindowMs: number): Memory => {
  const counts = { requests: 0, applications: 0 };
  const seen = new Map<string, number>();
  const requests = new Map<number, RequestRecord>();
  const held = new Map<number, { readonly request: RequestRecord; readonly until: string }>();
  const applied = new Map<string, AppliedRecord>();
  const fences = new Map<string, number>();

  const remembered = (flavour: Flavour, key: string): AppliedRecord | undefined =>
    applied.get(`${flavour} ${key}`);
  const raise = (key: string | null, epoch: number | null): void => {
    if (key !== null && epoch !== null) fences.set(key, Math.max(epoch, fences.get(key) ?? 0));
  };
  const settled = (n: number): void => {
    held.delete(n);
    requests.delete(n);
  };

  const note = (record: LedgerRecord): void => {
    switch (record.type) {
      case 'opened':
      case 'control':
        return undefined;
      case 'request':
        counts.requests = Math.max(counts.requests, record.n);
        seen.set(identityOf(record), Math.max(record.arrival, seen.get(identityOf(record)) ?? 0));
        if (record.digest !== null) requests.set(record.n, record);
        return undefined;
      case 'held': {
        const request = requests.get(record.n);
        if (request !== undefined) held.set(record.n, { request, until: record.until });
        return undefined;
      }
      case 'applied':
        counts.applications += 1;
        settled(record.n);
        if (record.key !== null) applied.set(`${record.flavour} ${record.key}`, record);
        if (record.flavour === 'fenced') raise(record.key, record.epoch);
        return undefined;
      case 'refused':
        settled(record.n);
        if (record.flavour === 'fenced' && record.status === 412) raise(record.key, record.epoch);
        return undefined;
      case 'repeated':
        return settled(record.n);
      case 'probed':
        counts.requests = Math.max(counts.requests, record.n);
        return record.flavour === 'fenced' ? raise(record.key, record.epoch) : undefined;
    }
  };

  const arrive = (identity: string): number => {
    const count = (seen.get(identity) ?? 0) + 1;
    seen.set(identity, count);
    return count;
  };

  const judge = ({ flavour, key, epoch }: Incoming, now: number): Verdict => {
    const before = key === null ? undefined : remembered(flavour, key);
    if (flavour === 'keyed' && key !== null && before !== undefined) {
      const forgotten = now >= Date.parse(before.at) + keyWindowMs;
      return forgotten ? { type: 'applied' } : { type: 'repeated', key, of: before.n };
    }
    if (flavour !== 'fenced') return { type: 'applied' };
    if (key === null || epoch === null) return { type: 'refused', status: 400 };
    const stale = epoch < (fences.get(key) ?? 0) || before !== undefined;
    return stale ? { type: 'refused', status: 412 } : { type: 'applied' };
  };

  return {
    note,
    judge,
    requests: () => counts.requests,
    applications: () => counts.applications,
    arrive,
    held: () => held,
    isApplied: (flavour, key) => remembered(flavour, key) !== undefined,
    fence: (key) => fences.get(key) ?? 0,
  };
};
