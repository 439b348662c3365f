import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { layout } from '../credentials/layout.ts';
import { command, dataDirOf, root } from './folders.ts';
import { defaultPorts } from './ports.ts';
import { pointHere } from './pointer.ts';
import { refuseWrongSettings } from './problem.ts';
import { ask, OK } from './process/ask.ts';
import { onStdout } from './progress.ts';
import type { Running } from './running.ts';
import type { SampleTask } from './sample-task.ts';
import { runSession } from './session.ts';
import { createStack } from './stack.ts';
import { runStep } from './step.ts';

const { say } = onStdout;

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
      `  console       ${services['approvals']}/   sign in: ${command} console, or the token in ${layout(credentials).operatorToken}`,
    );
  say(
    `  second person HOLDPOINT_TOKEN_FILE=${layout(credentials).approverToken} decides what you request under four eyes`,
  );
  say(`  credentials   ${credentials}`);
  say(`  workspace     ${workspace}`);
  say(`  logs          ${logs}`);
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

/** Waits for the decision of any surface, or for the abort signal. */
const awaitDecision = async (
  { services = {}, tokenFile = '' }: Partial<Running>,
  approval: string,
  leave: AbortSignal,
): Promise<string | undefined> => {
  const url = `${services['approvals'] ?? ''}/api/v1/approvals/${approval}`;
  const authorization = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
  while (!leave.aborted) {
    // A service that was killed answers later.
    const answer = await ask(url, { authorization }).catch(() => undefined);
    if (answer?.status === OK) {
      const { status } = JSON.parse(answer.body) as { readonly status: string };
      if (status !== 'pending') return status;
    }
    await sleep(1_000);
  }
  return undefined;
};

/** The first decision wins: that of this terminal or of another surface. */
const settleHere = async (running: Partial<Running>, task: SampleTask, leave: AbortSignal): Promise<void> => {
  const settled = new AbortController();
  const enough = AbortSignal.any([leave, settled.signal]);
  const elsewhere = awaitDecision(running, task.approval, enough);
  elsewhere.then(
    () => settled.abort(),
    () => undefined, // awaited below
  );
  const answer = await askHere('Approve it now? [y/n] ', enough);
  if (leave.aborted) return;
  if (answer === undefined) say(`\nDecided elsewhere: ${String(await elsewhere)}.`);
  settled.abort();
  await runStep('settle', { running, task, answer }, { progress: onStdout, signal: leave });
};

const work = async (running: Partial<Running>, leave: AbortSignal, sample: boolean): Promise<number> => {
  say('');
  say('Holdpoint is running.');
  describe(running);
  const task = await runStep('greet', { running, sample }, { progress: onStdout, signal: leave });
  say(`  next          ${command} task submit --workflow sample --goal "Say hello" --input line=hello`);
  say(`  hints         \`holdpoint …\` in any output means: ${command} …`);
  say('Ctrl-C stops everything.');
  collectGarbage();
  if (task && process.stdin.isTTY && process.stdout.isTTY) await settleHere(running, task, leave);
  await once(leave, 'abort');
  return 0;
};

/** Starts everything and runs until a signal. Returns the exit code for `process.exit`. */
export const startHere = async ({ sample }: { readonly sample: boolean }): Promise<number> => {
  await refuseWrongSettings(process.env);
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
      return work(running.description, leave, sample);
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
