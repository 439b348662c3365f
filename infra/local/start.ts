import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Client } from '@holdpoint/cli/bus/client';
import { consoleLink } from '@holdpoint/cli/console/link';
import { layout } from '../credentials/layout.ts';
import { dataDirOf, isPackage, root } from './folders.ts';
import { connectOperator } from './operator.ts';
import { defaultPorts } from './ports.ts';
import { pointHere } from './pointer.ts';
import { messageOf, refuseWrongSettings } from './problem.ts';
import { onStdout } from './progress.ts';
import type { Running } from './running.ts';
import { awaitDecision, awaitEnd, countApplied, decide, effectFile, submitSample } from './sample-task.ts';
import type { SampleTask } from './sample-task.ts';
import { runSession } from './session.ts';
import { createStack } from './stack.ts';
import type { RunningStack } from './stack.ts';

const { say } = onStdout;
const cli = isPackage ? 'npx holdpoint' : 'npm run --silent holdpoint --';

const describe = (running: Partial<Running>): void => {
  const {
    natsUrl = '',
    natsServer,
    natsSeedFile = '',
    database = '',
    services = {},
    workspace = '',
    logs = '',
    credentials = '',
  } = running;
  say(`  NATS          ${natsUrl}${natsServer === undefined ? '' : `   ${natsServer}`}`);
  say(
    `    watch       nats -s ${natsUrl} ${natsSeedFile.endsWith('.creds') ? '--creds' : '--nkey'} ${natsSeedFile} sub 'hp.evt.>'`,
  );
  say(`  PostgreSQL    ${database}`);
  for (const url of new Set(Object.values(services))) {
    const names = Object.keys(services).filter((name) => services[name] === url);
    const [name = ''] = names;
    say(`  ${(names.length > 1 ? 'core' : name).padEnd(13)} ${url}   /healthz /readyz /metrics`);
    if (names.length > 1) say(`    runs        ${names.join(', ')}`);
  }
  if (services['approvals'] !== undefined)
    say(
      `  console       ${services['approvals']}/   sign in: ${cli} console, or the token in ${layout(credentials).operatorToken}`,
    );
  say(
    `  second person HOLDPOINT_TOKEN_FILE=${layout(credentials).approverToken} decides what you request under four eyes`,
  );
  say(`  credentials   ${credentials}`);
  say(`  workspace     ${workspace}`);
  say(`  logs          ${logs}`);
};

/** The first visit of the console takes no token. */
const saySignIn = async (operator: Client, { services = {} }: Partial<Running>): Promise<void> => {
  const address = services['approvals'];
  if (address === undefined) return;
  try {
    const { url } = await consoleLink(operator, address);
    say(`  sign in       ${url}`);
    say(`                opens the console once, within 5 minutes; later: ${cli} console`);
  } catch (error) {
    say(`  sign in       no link now (${messageOf(error)}): ${cli} console`);
  }
};

/** Gives back what only the start needed: this process stays beside the services, and has little to do. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

type Answer = 'approve' | 'reject' | undefined;
const ANSWERS: Readonly<Record<string, Answer>> = { y: 'approve', yes: 'approve', n: 'reject', no: 'reject' };

/** Asks at the terminal. Returns undefined on Ctrl-C, or when another surface decides first. */
const askHere = async (question: string, leave: AbortSignal): Promise<Answer> => {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: question });
  // The terminal would otherwise keep the Ctrl-C to itself.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  leave.addEventListener('abort', () => terminal.close(), { once: true });
  terminal.prompt();
  for await (const line of terminal) {
    const answer = ANSWERS[line.trim().toLowerCase()];
    if (answer !== undefined) {
      terminal.close();
      return answer;
    }
    terminal.prompt();
  }
  return undefined;
};

/** The first decision wins: that of this terminal or of another surface. */
const settleHere = async (
  operator: Client,
  task: SampleTask,
  workspace: string,
  leave: AbortSignal,
): Promise<void> => {
  const settled = new AbortController();
  const enough = AbortSignal.any([leave, settled.signal]);
  const elsewhere = awaitDecision(operator, task.approval, enough);
  elsewhere.then(
    () => settled.abort(),
    () => undefined, // awaited below
  );
  const answer = await askHere('Approve it now? [y/n] ', enough);
  if (leave.aborted) return;
  if (answer === undefined) say(`\nDecided elsewhere: ${String(await elsewhere)}.`);
  else await decide(operator, task.approval, answer);
  settled.abort();
  const phase = await awaitEnd(operator, task.id);
  say(
    `Task ${task.id} is ${phase}; its line was applied ${await countApplied(workspace, task)}× in ${effectFile(workspace)}.`,
  );
};

const holdSample = async (operator: Client, workspace: string): Promise<SampleTask> => {
  const task = await submitSample(operator);
  say('');
  say(`Task ${task.id} waits at its hold point: it will append a line to ${effectFile(workspace)}.`);
  say(`  approve       ${cli} approval approve ${task.approval}`);
  say(`  reject        ${cli} approval reject ${task.approval}`);
  say(`  inspect       ${cli} task show ${task.id}`);
  return task;
};

const work = async (
  { description, natsUrl, credentialsDir, workspace }: RunningStack,
  leave: AbortSignal,
  sample: boolean,
): Promise<number> => {
  say('');
  say('Holdpoint is running.');
  describe(description);
  const operator = await connectOperator(natsUrl, credentialsDir);
  const { work: confinement } = await operator.call('executor', 'executors', {});
  say(`  work          ${confinement}`);
  await saySignIn(operator, description);
  const task = sample ? await holdSample(operator, workspace) : undefined;
  say(`  next          ${cli} task submit --workflow sample --goal "Say hello" --input line=hello`);
  say('Ctrl-C stops everything.');
  collectGarbage();
  if (task !== undefined && process.stdin.isTTY && process.stdout.isTTY)
    await settleHere(operator, task, workspace, leave);
  await operator.close();
  await once(leave, 'abort');
  return 0;
};

/** Starts everything and runs until a signal. Returns the exit code for `process.exit`. */
export const startHere = async ({ sample }: { readonly sample: boolean }): Promise<number> => {
  refuseWrongSettings(process.env);
  const dataDir = dataDirOf(process.env);
  const stack = createStack({
    root,
    dataDir,
    progress: onStdout,
    ports: defaultPorts,
    natsUrl: process.env['HOLDPOINT_NATS_URL'],
    repositories: process.env['HOLDPOINT_REPOSITORIES'],
    keepServers: true,
    isSmall: true,
  });
  say('Starting Holdpoint ...');
  /** Removes the pointer by which the command line finds this start. */
  let unpoint = async (): Promise<void> => undefined;
  const code = await runSession(stack, {
    work: async (running, leave) => {
      unpoint = await pointHere(process.env, dataDir, say);
      return work(running, leave, sample);
    },
    // Ctrl-C is the way to end it.
    interruptedCode: 0,
    alreadyRunning: ({ running }) => {
      const since = `as process ${running.pid} since ${running.startedAt}`;
      say(
        `Holdpoint is ${running.natsUrl === undefined ? 'starting' : 'running'} already, ${since}; this start did nothing.`,
      );
      if (running.natsUrl !== undefined) describe(running);
      return 0;
    },
  });
  await unpoint();
  return code;
};

if (import.meta.main) process.exit(await startHere({ sample: !process.argv.includes('--no-sample') }));
