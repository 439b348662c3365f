import type { LedgerFile } from './ledger-file.ts';
import type { AppliedRecord, Flavour, LedgerRecord, RequestRecord } from './ledger.ts';
import { createMemory, type Incoming, identityOf } from './memory.ts';
import type { Mode } from './modes.ts';

type Unstamped<Written> = Written extends LedgerRecord ? Omit<Written, 'at' | 'mono'> : never;
export type Entry = Unstamped<LedgerRecord>;
export type Outcome = Unstamped<Extract<LedgerRecord, { type: 'applied' | 'repeated' | 'refused' }>>;
export type Arrived = Omit<RequestRecord, 'type' | 'at' | 'mono' | 'digest' | 'bytes' | 'mode'>;

const now = (): Pick<AppliedRecord, 'at' | 'mono'> => ({
  at: new Date().toISOString(),
  mono: String(process.hrtime.bigint()),
});

/**
 * The targets' memory and its file. Memory changes first and synchronously, so that two requests with one key
 * cannot both be the first. Each answer waits for the file.
 */
export const createBook = (file: LedgerFile, keyWindowMs: number) => {
  const memory = createMemory(keyWindowMs);
  for (const record of file.records) memory.note(record);
  let numbers = memory.requests();

  const write = (...entries: readonly Entry[]): Promise<void> => {
    const records = entries.map((entry): LedgerRecord => ({ ...entry, ...now() }));
    for (const record of records) memory.note(record);
    return file.append(records);
  };

  const outcomeOf = (request: Incoming, forgetful: boolean): Outcome => {
    const { n, flavour, path, key, epoch, digest } = request;
    const verdict = forgetful ? ({ type: 'applied' } as const) : memory.judge(request, Date.now());
    switch (verdict.type) {
      case 'applied':
        return { type: 'applied', n, flavour, path, key, epoch, digest };
      case 'repeated':
        return { type: 'repeated', n, key: verdict.key, of: verdict.of };
      case 'refused':
        return { type: 'refused', n, flavour, key, epoch, status: verdict.status };
    }
  };

  /** Numbers a request in order of arrival. */
  const arrive = (request: Omit<Arrived, 'n' | 'arrival'>): Arrived => {
    numbers += 1;
    return { ...request, n: numbers, arrival: memory.arrive(identityOf(request)) };
  };

  return {
    memory,
    write,
    arrive,
    /** A request whose body was read, or is not needed. */
    received: (arrived: Arrived, mode: Mode, digest: string | null, bytes: number): Promise<void> =>
      write({ type: 'request', ...arrived, digest, bytes, mode }),
    /** Applies the request. Resolves once it is on disk. */
    apply: async (request: Incoming, forgetful = false): Promise<Outcome> => {
      const outcome = outcomeOf(request, forgetful);
      await write(outcome);
      return outcome;
    },
    refuse: async ({ n, flavour, key, epoch }: Arrived, status: number): Promise<void> =>
      write({ type: 'refused', n, flavour, key, epoch, status }),
    probe: async (flavour: Flavour, key: string, epoch: number | null): Promise<boolean> => {
      numbers += 1;
      const applied = memory.isApplied(flavour, key);
      await write({ type: 'probed', n: numbers, flavour, key, epoch, applied });
      return applied;
    },
  };
};
export type Book = ReturnType<typeof createBook>;
