import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { run } from '@holdpoint/infra/local/run';
import { until } from '../../kit/until.ts';

export type Program = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
};

/** A command that was typed. */
export type Typed = {
  /** What it has printed so far, on both of its outputs. */
  readonly printed: () => string;
  /** Resolves to its exit code. Throws when it has not ended in time. */
  readonly end: () => Promise<number | null>;
  /** What Ctrl-C does. */
  readonly interrupt: () => Promise<void>;
  readonly kill: () => void;
};

/** Far above what any of them takes. */
const END_WITHIN_MS = 60_000;

const typed = (child: ChildProcess, name: string): Typed => {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const closed = once(child, 'close');
  // Whoever waits for its end hears of it.
  closed.catch(() => undefined);

  const end = async (): Promise<number | null> => {
    const timer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
    try {
      await closed;
    } finally {
      clearTimeout(timer);
    }
    if (child.signalCode === 'SIGKILL')
      throw new Error(`${name} did not end within ${String(END_WITHIN_MS / 1_000)} s:\n${text}`);
    return child.exitCode;
  };
  return {
    printed: () => text,
    end,
    interrupt: async () => {
      if (child.exitCode !== null) throw new Error(`${name} had ended by itself:\n${text}`);
      child.kill('SIGINT');
      await end();
    },
    kill: () => void child.kill('SIGKILL'),
  };
};

export const type = ({ command, args, ...where }: Program): Typed =>
  typed(spawn(command, [...args], { ...where, stdio: ['ignore', 'pipe', 'pipe'] }), command);

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** What a program asks of a terminal or of the person before it, and the answer: where the cursor is, and yes. */
const ANSWERS: readonly (readonly [question: string, answer: string])[] = [
  ['\u001b[6n', '\u001b[24;80R'],
  ['Next Page?', 'y\r'],
];

/** On a terminal of its own, which `script` makes, with somebody who goes on to the next page as long as there is one. */
export const typeOnTerminal = ({ command, args, cwd, env }: Program): Typed => {
  const line = [command, ...args].map(quoted).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const terminal = typed(child, command);
  // It has ended, and needs no answer any more.
  child.stdin.on('error', () => undefined);
  let answered = 0;
  child.stdout.on('data', () => {
    for (;;) {
      const open = terminal.printed().slice(answered);
      const [next] = ANSWERS.map(([question, answer]) => ({ question, answer, at: open.indexOf(question) }))
        .filter(({ at }) => at >= 0)
        .toSorted((a, b) => a.at - b.at);
      if (next === undefined) return;
      answered += next.at + next.question.length;
      child.stdin.write(next.answer);
    }
  });
  return terminal;
};

/** Waits until it has printed something. */
export const hasPrinted = ({ printed }: Typed, text: string, withinMs?: number): Promise<true> =>
  until(`"${text}" is printed`, () => (printed().includes(text) ? true : undefined), withinMs).catch(
    (error: unknown) => {
      throw new Error(`not printed: ${text}\nbut: ${printed()}`, { cause: error });
    },
  );

const onPath = async (name: string, path: string): Promise<string | undefined> => {
  for (const folder of path.split(delimiter).filter((each) => each !== '')) {
    const candidate = join(folder, name);
    const isProgram = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return candidate;
  }
  return undefined;
};

export type Tools = {
  /** The `nats` command; undefined where there is none. */
  readonly nats: string | undefined;
  readonly hasTerminals: boolean;
};

/** What this machine has to type the documented commands with. */
export const findTools = async (env: NodeJS.ProcessEnv): Promise<Tools> => {
  const path = env['PATH'] ?? '';
  const told = env['HOLDPOINT_NATS_CLI'];
  const nats = told ? resolve(told) : await onPath('nats', path);
  // One that is there and does not run is a fault, and no reason to leave anything out.
  if (nats !== undefined) await run(nats, ['--version'], { timeoutMs: 30_000 });
  // That of other systems takes other arguments.
  const hasTerminals = process.platform === 'linux' && (await onPath('script', path)) !== undefined;
  return { nats, hasTerminals };
};
