import { fork } from 'node:child_process';
import { once } from 'node:events';
import { programFile, root } from './folders.ts';
import { Problem } from './problem.ts';
import { silent } from './progress.ts';
import type { Progress } from './progress.ts';
import type { StepAnswer, StepMessage, Steps } from './steps.ts';

type StepOptions = {
  readonly progress?: Progress;
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the process, which is awaited. */
  readonly signal?: AbortSignal | undefined;
};

/** Runs a step of a start in a process of its own: its libraries take no memory beside the services afterwards. */
export const runStep = async <Name extends keyof Steps>(
  name: Name,
  input: Parameters<Steps[Name]>[0],
  { progress = silent, env = process.env, signal }: StepOptions = {},
): Promise<Awaited<ReturnType<Steps[Name]>>> => {
  type Result = Awaited<ReturnType<Steps[Name]>>;
  signal?.throwIfAborted();
  const child = fork(programFile(root, 'infra/local/steps.ts'), [name], { env, execArgv: [] });
  const end = (): void => void child.kill();
  signal?.addEventListener('abort', end);
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  const answers: StepAnswer<Result>[] = [];
  child.on('message', (message: StepMessage<Result>) => {
    if ('line' in message) progress.say(message.line);
    else answers.push(message);
  });
  child.send({ input });
  await ended.finally(() => signal?.removeEventListener('abort', end));
  signal?.throwIfAborted();
  const [answer = { problem: `the step ${name} of the start ended without an answer` }] = answers;
  if ('result' in answer) return answer.result;
  throw new Problem(answer.problem);
};
