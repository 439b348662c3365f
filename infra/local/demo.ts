import { rm } from 'node:fs/promises';
import { demoDirOf, root } from './folders.ts';
import { connectOperator } from './operator.ts';
import { refuseWrongSettings } from './problem.ts';
import { onStdout } from './progress.ts';
import { findRunning } from './running.ts';
import { awaitEnd, countApplied, decide, effectFile, submitSample, timeline } from './sample-task.ts';
import { runSession } from './session.ts';
import { createStack } from './stack.ts';
import type { RunningStack } from './stack.ts';

const { say } = onStdout;
/** What a shell says of a command that Ctrl-C ended. */
const INTERRUPTED = 130;

const work = async ({ natsUrl, credentialsDir, workspace }: RunningStack): Promise<number> => {
  const operator = await connectOperator(natsUrl, credentialsDir);
  try {
    const task = await submitSample(operator);
    say(`1. Task ${task.id} was submitted and is held at its gate; approval ${task.approval} is pending.`);
    say(`2. Its effect has been applied ${await countApplied(workspace, task)} times so far.`);
    await decide(operator, task.approval, 'approve');
    say('3. The operator approved exactly this effect.');
    const phase = await awaitEnd(operator, task.id);
    const applied = await countApplied(workspace, task);
    say(`4. The task is ${phase}; its line was applied ${applied}× in ${effectFile(workspace)}.`);
    say('5. What was recorded:');
    for (const line of await timeline(operator, task.id)) say(line);
    return phase === 'completed' && applied === 1 ? 0 : 1;
  } finally {
    await operator.close();
  }
};

await refuseWrongSettings(process.env);
const demoDir = demoDirOf(process.env);
const stack = createStack({ root, dataDir: demoDir, progress: onStdout });
say('Holdpoint demo: a stack of its own, on free ports, beside any that is running.');
// A demo starts from nothing, unless another one is under way.
if ((await findRunning(demoDir)) === undefined) await rm(demoDir, { recursive: true, force: true });
const code = await runSession(stack, {
  work,
  interruptedCode: INTERRUPTED,
  alreadyRunning: ({ running }) => {
    say(`A demo is running already, as process ${running.pid}: wait for it to end.`);
    return 1;
  },
});
if (code === 0) say('Demo complete: the effect was applied once. Everything has been stopped.');
process.exit(code);
