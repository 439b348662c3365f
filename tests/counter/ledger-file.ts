import { open } from 'node:fs/promises';
import { type LedgerRecord, parseLedger } from './ledger.ts';

type Waiting = {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** An append-only file. An append resolves once it is on disk. */
export type LedgerFile = {
  /** From earlier runs. */
  readonly records: readonly LedgerRecord[];
  readonly append: (records: readonly LedgerRecord[]) => Promise<void>;
  /** The length that is on disk. */
  readonly length: () => number;
  readonly close: () => Promise<void>;
};

/** Opens or creates the file, and removes a last line that a crash cut. */
export const openLedgerFile = async (path: string): Promise<LedgerFile> => {
  const handle = await open(path, 'a+', 0o640);
  const bytes = await handle.readFile();
  let length = bytes.lastIndexOf(0x0a) + 1;
  if (length < bytes.length) await handle.truncate(length);
  const records = parseLedger(bytes.toString('utf8', 0, length));

  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  // While one batch syncs the next one collects, so that many share a sync.
  const drain = async (): Promise<void> => {
    while (waiting.length > 0) {
      const lot = waiting.splice(0);
      try {
        const text = Buffer.from(lot.map((one) => one.text).join(''));
        await handle.appendFile(text);
        await handle.datasync();
        length += text.length;
        for (const { resolve } of lot) resolve();
      } catch (error) {
        for (const { reject } of lot) reject(error);
      }
    }
    writing = undefined;
  };

  return {
    records,
    length: () => length,
    append: (added) =>
      new Promise((resolve, reject) => {
        const text = added.map((record) => `${JSON.stringify(record)}\n`).join('');
        waiting.push({ text, resolve, reject });
        writing ??= drain();
      }),
    close: async () => {
      await writing;
      await handle.close();
    },
  };
};
