import { criteriaText } from '@holdpoint/contracts/approval/facts-text';
import { artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import { AttemptReport } from '@holdpoint/contracts/workflow/attempt';
import type { Payload, StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { filesTree } from '../../adapters/git/snapshot.ts';
import type { CommandResult } from '../../adapters/process/run-command.ts';
import { orWarn } from '../stage/or-warn.ts';
import { failed, succeeded } from '../stage/results.ts';
import { invalid } from '../stage/arguments.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';
import { askingForReport, readReply, type Reply } from './reply.ts';

/** Including the note about omitted bytes. */
const REPLY_BYTES_MAX = 128 * 1_024;
const LEFT_OUT_BYTES = 64;
const TIMED_OUT = 124;
const NOT_STARTED = 127;
/** Limits stderr: payloads travel in messages. */
const ASIDE_CHARACTERS_MAX = 16 * 1_024;

const promptIn = ({ payloads = {} }: StepInput): string => {
  const prompts = Object.entries(payloads).filter(([label]) => label.startsWith('custom:prompt_text:'));
  const [only] = prompts;
  if (only === undefined || prompts.length > 1) {
    throw invalid(`payloads: ${String(prompts.length)} prompts (prompt_text), expected one`);
  }
  const [label, { text }] = only;
  if (typeof text !== 'string') throw invalid(`payloads: ${label} has no text`);
  return text;
};

const LAST_ATTEMPT = `## The last attempt was not accepted

The last attempt was not accepted. This is the end of a check's output, or a reviewer's comment.`;

/** Appends the hint of earlier attempts. A hint with a heading of its own gets no other. */
export const withHint = (prompt: string, hint: string | undefined): string => {
  if (hint === undefined || hint.trim() === '') return prompt;
  const parts = [prompt.trimEnd(), ...(hint.startsWith('## ') ? [] : [LAST_ATTEMPT]), hint.trimEnd()];
  return `${parts.join('\n\n')}\n`;
};

/** Appends the acceptance criteria of the task. */
const withCriteria = (prompt: string, criteria: readonly string[] = []): string =>
  criteria.length === 0
    ? prompt
    : `${prompt.trimEnd()}\n\n## Acceptance criteria\n\n${criteriaText(criteria)}\n`;

const promptFor = (input: StepInput): string => {
  const prompt = withHint(withCriteria(promptIn(input), input.acceptanceCriteria), input.hint);
  return input.reports === true ? askingForReport(prompt) : prompt;
};

const endOf = (text: string): string =>
  text.length <= ASIDE_CHARACTERS_MAX ? text : `[...]${text.slice(-ASIDE_CHARACTERS_MAX).toWellFormed()}`;

const exitCodeOf = ({ exitCode, timedOut, problem }: CommandResult): number =>
  timedOut ? TIMED_OUT : (exitCode ?? (problem === undefined ? 1 : NOT_STARTED));

/** The command line of the agent, or the result that explains why there is none. */
export const agentArgv = (
  input: StepInput,
  tools: StageTools,
): { readonly argv: readonly string[] } | { readonly result: StepResult } => {
  const argv = input.agent ?? tools.agentDefault;
  if (argv !== undefined && argv.length > 0) return { argv };
  return {
    result: failed('No agent configured: set agent.command in [agents.default] of .holdpoint/config.toml'),
  };
};

/** Runs an agent without a shell. The prompt goes to its standard input only. */
export const runAgent = async (
  argv: readonly string[],
  prompt: string,
  { timeoutMs }: StepInput,
  tools: StageTools,
  cwd: string = tools.root,
): Promise<CommandResult> => {
  const outputMax = REPLY_BYTES_MAX - LEFT_OUT_BYTES;
  const ended = await tools.command({ argv, cwd, stdin: prompt, timeoutMs, outputMax });
  if (ended.cancelled) throw new Error('the agent was cancelled');
  return ended;
};

/** How the agent ended, for users. */
export const agentEnd = ({ exitCode, timedOut, signal, problem, durationMs }: CommandResult): string => {
  if (problem !== undefined) return `the agent was not started: ${problem}`;
  if (timedOut) return `the agent did not finish within ${String(durationMs)} ms`;
  if (exitCode === undefined) return `the agent was killed by ${String(signal)}`;
  return `the agent exited with ${String(exitCode)}`;
};

const FILES_MAX = 200;
const { element: Path } = AttemptReport.shape.files.unwrap();

const WHAT = 'which files have changed';

/**
 * Records the files of a task's worktree, and later returns those that have changed since, committed or not.
 * Undefined in a shared checkout.
 */
export const watchFiles = async (
  tools: StageTools,
): Promise<() => Promise<readonly string[] | undefined>> => {
  const { inWorktree, root, gitParts } = tools;
  const tree = (): Promise<string | undefined> => orWarn(tools, WHAT, () => filesTree(root, gitParts));
  const before = inWorktree ? await tree() : undefined;
  return async () => {
    const after = before === undefined ? undefined : await tree();
    if (before === undefined || after === undefined) return undefined;
    const argv = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', before, after, '--'];
    const changed = await orWarn(tools, WHAT, () => tools.git().list(argv));
    return changed?.filter((path) => Path.safeParse(path).success).slice(0, FILES_MAX);
  };
};

const invoke: RunStage = async (input, tools) => {
  const agent = agentArgv(input, tools);
  if ('result' in agent) return agent.result;
  const prompt = promptFor(input);
  const changedFiles = await watchFiles(tools);
  const ended = await runAgent(agent.argv, prompt, input, tools);
  const exitCode = exitCodeOf(ended);
  const reply = readReply(ended.stdout);
  const payload: Payload = {
    text: reply.text,
    stderr: endOf(ended.stderr),
    exit_code: exitCode,
    duration_ms: ended.durationMs,
  };
  const custom = (input.produces ?? []).filter(({ type }) => type === 'custom');
  const payloads = Object.fromEntries(custom.map((artifact) => [artifactLabel(artifact), payload]));
  const files = await changedFiles();
  const all = {
    exitCode,
    outputs: { exit_code: exitCode, duration_ms: ended.durationMs },
    payloads,
    report: reportOf(reply, ended, files),
  };
  const { problem } = reply;
  if (exitCode === 0 && problem === undefined) return succeeded(agentEnd(ended), all);
  const said = problem === undefined ? agentEnd(ended) : `${agentEnd(ended)}, and ${problem}`;
  return failed(said, { ...all, hint: endOf(whatWentWrong(reply, ended)) });
};

const reportOf = (
  { report, usage }: Reply,
  { durationMs }: CommandResult,
  files: readonly string[] | undefined,
): AttemptReport => ({
  ...report,
  ...(files !== undefined && { files: [...files] }),
  usage: { ...usage, durationMs },
});

/** A failure that the agent reports is explained in its text; any other on stderr. */
const whatWentWrong = ({ text, problem }: Reply, { stderr, stdout }: CommandResult): string =>
  (problem === undefined ? [stderr, text] : [text, stderr]).find((each) => each.trim() !== '') ?? stdout;

export const invokeAgent: StageModule = { uses: 'cap.agent.invoke', run: invoke, startsProcess: true };
