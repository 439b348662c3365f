import { artifactLabel } from '@holdpoint/contracts/artifact';
import type { Payload, StepInput, StepResult } from '@holdpoint/contracts/step';
import type { CommandResult } from '../../adapters/process/run-command.ts';
import { failed, invalid, type RunStage, type StageModule, type StageTools, succeeded } from '../stage.ts';

const HOUR_MS = 3_600_000;
/** Nobody waits longer for a reply, unless the node says so. */
const TIMEOUT_MS = 12 * HOUR_MS;
/** Of a reply, with what says how much was left out. */
const REPLY_BYTES_MAX = 128 * 1_024;
const LEFT_OUT_BYTES = 64;
const TIMED_OUT = 124;
const NOT_STARTED = 127;
/** Of what it said beside its reply: payloads travel in messages. */
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

/** The prompt, and what came of the attempt before. */
export const withHint = (prompt: string, hint: string | undefined): string =>
  hint === undefined || hint.trim() === ''
    ? prompt
    : `${prompt.trimEnd()}\n\n## The last attempt was not accepted\n\nThe last attempt was not accepted: this is the end of what the check printed.\n\n${hint.trimEnd()}\n`;

const endOf = (text: string): string =>
  text.length <= ASIDE_CHARACTERS_MAX ? text : `[...]${text.slice(-ASIDE_CHARACTERS_MAX).toWellFormed()}`;

const exitCodeOf = ({ exitCode, timedOut, problem }: CommandResult): number =>
  timedOut ? TIMED_OUT : (exitCode ?? (problem === undefined ? 1 : NOT_STARTED));

/** What an agent has to be run with, or the result that says why it cannot be. */
export const agentArgv = (
  input: StepInput,
  tools: StageTools,
): { readonly argv: readonly string[] } | { readonly result: StepResult } => {
  const argv = input.agent ?? tools.agentDefault;
  if (argv !== undefined && argv.length > 0) return { argv };
  return {
    result: failed(
      'no agent is configured: name its command in .holdpoint/config.toml, as agent.command under [agents.default]',
    ),
  };
};

/** Runs an agent without a shell; nothing of the prompt is seen by anybody but the agent. */
export const runAgent = async (
  argv: readonly string[],
  prompt: string,
  { timeoutMs = TIMEOUT_MS }: StepInput,
  tools: StageTools,
  cwd: string = tools.root,
): Promise<CommandResult> => {
  const outputMax = REPLY_BYTES_MAX - LEFT_OUT_BYTES;
  const ended = await tools.command({ argv, cwd, stdin: prompt, timeoutMs, outputMax });
  if (ended.cancelled) throw new Error('the agent was told to end');
  return ended;
};

/** How it ended, for people. */
export const agentEnd = ({ exitCode, timedOut, signal, problem, durationMs }: CommandResult): string => {
  if (problem !== undefined) return `the agent was not started: ${problem}`;
  if (timedOut) return `the agent was not done within ${String(durationMs)} ms`;
  if (exitCode === undefined) return `the agent was killed by ${String(signal)}`;
  return `the agent ended with ${String(exitCode)}`;
};

/** Gives an agent its prompt, and keeps its reply. */
const invoke: RunStage = async (input, tools) => {
  const agent = agentArgv(input, tools);
  if ('result' in agent) return agent.result;
  const ended = await runAgent(agent.argv, withHint(promptIn(input), input.hint), input, tools);
  const exitCode = exitCodeOf(ended);
  const payload: Payload = {
    text: ended.stdout,
    stderr: endOf(ended.stderr),
    exit_code: exitCode,
    duration_ms: ended.durationMs,
  };
  const custom = (input.produces ?? []).filter(({ type }) => type === 'custom');
  const payloads = Object.fromEntries(custom.map((artifact) => [artifactLabel(artifact), payload]));
  const outputs = { exit_code: exitCode, duration_ms: ended.durationMs };
  if (exitCode === 0) return succeeded(agentEnd(ended), { exitCode, outputs, payloads });
  const said = endOf(ended.stderr.trim() === '' ? ended.stdout : ended.stderr);
  return failed(agentEnd(ended), { exitCode, outputs, payloads, hint: said });
};

export const invokeAgent: StageModule = { uses: 'cap.agent.invoke', run: invoke, startsPrograms: true };
