import type { Readable } from 'node:stream';

/** Limits the messages of the launcher. */
const SAID_MAX = 4_096;
/** The last line before the command begins. */
const STARTED = 'started';
const INIT = /^init ([0-9]+)$/;

/** Reads descriptor 4 of a launcher: see `confine.pl`. */
export const listenToLaunch = (stream: Readable) => {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (text.length < SAID_MAX) text += chunk.toString('latin1');
  });
  stream.on('error', () => undefined);
  const lines = (): readonly string[] => text.split('\n').slice(0, -1);
  return {
    /** The pid of the namespace's init; undefined while there is none. */
    init: (): number | undefined => {
      const found = lines()
        .map((line) => INIT.exec(line)?.[1])
        .find((pid) => pid !== undefined);
      return found === undefined ? undefined : Number(found);
    },
    /** Why the command never began; undefined once it may have. */
    problem: (code: number): string | undefined => {
      const said = lines().filter((line) => line !== STARTED && !INIT.test(line));
      if (said.length > 0) return said.join('; ');
      return lines().includes(STARTED) ? undefined : `the launcher ended with ${String(code)}`;
    },
  };
};
export type Launch = ReturnType<typeof listenToLaunch>;
