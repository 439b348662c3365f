import type { Readable } from 'node:stream';

/** What the start of a namespace may say of itself. */
const SAID_MAX = 4_096;
/** As unshare before util-linux 2.39 says that the program was killed, where it should have ended in the same way. */
const KILLED = /sigprocmask/;

/** The last line before the program begins. */
const STARTED = 'started';

/** Listens to the descriptor on which a namespace is made: the pid of its init comes first, then what hinders it. */
export const listenToKeeper = (stream: Readable) => {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (text.length < SAID_MAX) text += chunk.toString('latin1');
  });
  stream.on('error', () => undefined);
  const lines = (): readonly string[] => text.split('\n').slice(0, -1);
  const hasStarted = (): boolean => lines().includes(STARTED);
  return {
    /** The init of the namespace; `undefined` as long as it has none. */
    pid: (): number | undefined => {
      const [first] = lines();
      return first === undefined ? undefined : Number(first);
    },
    wasKilled: (): boolean => hasStarted() && lines().some((line) => KILLED.test(line)),
    /** Why the program never began; `undefined` as soon as it may have. */
    problem: (code: number): string | undefined => {
      if (hasStarted()) return undefined;
      const said = lines().slice(1).join('; ');
      return said === '' ? `unshare ended with ${String(code)}` : said;
    },
  };
};
export type Keeper = ReturnType<typeof listenToKeeper>;
