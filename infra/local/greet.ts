import type { Client } from '@holdpoint/cli/bus/client';
import { consoleLink } from '@holdpoint/cli/console/link';
import { command } from './folders.ts';
import { connectOperator } from './operator.ts';
import { messageOf } from './problem.ts';
import type { Progress } from './progress.ts';
import type { Running } from './running.ts';
import { awaitEnd, countApplied, decide, effectFile, submitSample } from './sample-task.ts';
import type { SampleTask } from './sample-task.ts';

export type Greeting = {
  readonly running: Partial<Running>;
  /** Submits the sample task. */
  readonly sample: boolean;
};

export type Settlement = {
  readonly running: Partial<Running>;
  readonly task: SampleTask;
  /** Absent for a decision of another surface. */
  readonly answer?: 'approve' | 'reject' | undefined;
};

const withOperator = async <Result>(
  { natsUrl = '', credentials = '' }: Partial<Running>,
  work: (operator: Client) => Promise<Result>,
): Promise<Result> => {
  const operator = await connectOperator(natsUrl, credentials);
  try {
    return await work(operator);
  } finally {
    await operator.close();
  }
};

/** The first visit of the console takes no token. */
const saySignIn = async (
  operator: Client,
  { services = {} }: Partial<Running>,
  { say }: Progress,
): Promise<void> => {
  const address = services['approvals'];
  if (address === undefined) return;
  try {
    const { url } = await consoleLink(operator, address);
    say(`  sign in       ${url}`);
    say(`                opens the console once, within 5 minutes; later: ${command} console`);
  } catch (error) {
    say(`  sign in       no link now (${messageOf(error)}): ${command} console`);
  }
};

const holdSample = async (operator: Client, workspace: string, { say }: Progress): Promise<SampleTask> => {
  const task = await submitSample(operator);
  say('');
  say(`Task ${task.id} waits at its hold point: it will append a line to ${effectFile(workspace)}.`);
  say(`  approve       ${command} approval approve ${task.approval}`);
  say(`  reject        ${command} approval reject ${task.approval}`);
  say(`  inspect       ${command} task show ${task.id}`);
  return task;
};

/** Says how the work is confined and how to sign in, and holds the sample task. */
export const greet = ({ running, sample }: Greeting, progress: Progress): Promise<SampleTask | undefined> =>
  withOperator(running, async (operator) => {
    const { work: confinement } = await operator.call('executor', 'executors', {});
    progress.say(`  work          ${confinement}`);
    await saySignIn(operator, running, progress);
    return sample ? holdSample(operator, running.workspace ?? '', progress) : undefined;
  });

/** Decides the sample task, unless another surface did, and tells how it ends. */
export const settle = (
  { running: { workspace = '', ...running }, task, answer }: Settlement,
  { say }: Progress,
): Promise<void> =>
  withOperator(running, async (operator) => {
    if (answer !== undefined) await decide(operator, task.approval, answer);
    const phase = await awaitEnd(operator, task.id);
    const applied = await countApplied(workspace, task);
    say(`Task ${task.id} is ${phase}; its line was applied ${applied}× in ${effectFile(workspace)}.`);
  });
