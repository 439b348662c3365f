import type { Readable } from 'node:stream';

/** Limits the messages of a namespace start. */
const SAID_MAX = 4_096;
/** unshare before util-linux 2.39 reports a kill as this error. */
const KILLED = /sigprocmask/;

/** The last line before the command begins. */
const STARTED = 'started';

/** Reads the descriptor of a namespace start: the pid of its init, then errors. */
export const listenToNamespace = (stream: Readable) => {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (text.length < SAID_MAX) text += chunk.toString('latin1');
  });
  stream.on('error', () => undefined);
  const lines = (): readonly string[] => text.split('\n').slice(0, -1);
  const hasStarted = (): boolean => lines().includes(STARTED);
  return {
    /** Undefined while there is no init. */
    pid: (): number | undefined => {
      const [first] = lines();
      return first === undefined ? undefined : Number(first);
    },
    wasKilled: (): boolean => hasStarted() && lines().some((line) => KILLED.test(line)),
    /** Why the command never began; undefined once it may have. */
    problem: (code: number): string | undefined => {
      if (hasStarted()) return undefined;
      const said = lines().slice(1).join('; ');
      return said === '' ? `unshare ended with ${String(code)}` : said;
    },
  };
};
export type Keeper = ReturnType<typeof listenToNamespace>;
