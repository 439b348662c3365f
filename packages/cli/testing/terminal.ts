import type { Client } from '../src/bus/client.ts';
import { runProgram } from '../src/program.ts';
import type { Environment } from '../src/kit/environment.ts';

export const NOW = Date.UTC(2026, 0, 15, 9, 31, 0);

export type Call = readonly [endpoint: string, payload: unknown];
/** Response per endpoint: a value, an error, or a function of the request. */
export type Answers = Readonly<Record<string, unknown>>;

const answerOf = async (answers: Answers, name: string, payload: unknown): Promise<unknown> => {
  if (!Object.hasOwn(answers, name)) throw new Error(`${name} is not expected`);
  const found: unknown = answers[name];
  const answer: unknown =
    typeof found === 'function' ? await (found as (request: unknown) => unknown)(payload) : found;
  if (answer instanceof Error) throw answer;
  return answer;
};

/** A client with these responses. */
const clientWith = (answers: Answers, calls: Call[], closed: () => void): Client =>
  ({
    call: async (service: string, endpoint: string, payload: unknown) => {
      const name = `${service}.${endpoint}`;
      calls.push([name, payload]);
      return answerOf(answers, name, payload);
    },
    watch: async () => ({ stop: async () => undefined }),
    logs: () => ({ read: async (from: number) => from, watch: () => ({ stop: async () => undefined }) }),
    close: async () => closed(),
  }) as unknown as Client;

/** Runs one command line against these responses. */
export const typeLine = async (
  args: readonly string[],
  answers: Answers = {},
  more: Partial<Environment> = {},
) => {
  const calls: Call[] = [];
  let [out, err, open] = ['', '', 0];
  const code = await runProgram(args, {
    connect: async () => {
      open += 1;
      return clientWith(answers, calls, () => (open -= 1));
    },
    out: (text) => (out += text),
    err: (text) => (err += text),
    now: () => NOW,
    ...more,
  });
  return { code, out, err, calls, open };
};
