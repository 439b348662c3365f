import { open } from 'node:fs/promises';
import { type LedgerRecord, parseLedger } from './ledger.ts';

type Waiting = {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** A file that only grows. What is appended has reached the disk when the promise is fulfilled. */
export type LedgerFile = {
  /** Of earlier runs. */
  readonly records: readonly LedgerRecord[];
  readonly append: (records: readonly LedgerRecord[]) => Promise<void>;
  /** How much of the file is certain to stay. */
  readonly length: () => number;
  readonly close: () => Promise<void>;
};

/** Opens the file, or makes it. A line that a crash cut off is taken away: nobody was told of it. */
export const openLedgerFile = async (path: string): Promise<LedgerFile> => {
  const handle = await open(path, 'a+', 0o640);
  const bytes = await handle.readFile();
  let length = bytes.lastIndexOf(0x0a) + 1;
  if (length < bytes.length) await handle.truncate(length);
  const records = parseLedger(bytes.toString('utf8', 0, length));

  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  // While one lot is on its way to the disk the next gathers, so that many share one sync.
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
