import { ConfigError } from '@holdpoint/runtime/service/config';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Environment } from './command-env.ts';
import { type Confinement, type Namespace, UNCONFINED } from './confinement.ts';
import { findProgram } from './find-command.ts';
import { type CommandLimits, limitArgs } from './limits.ts';
import { type CommandResult, runCommand, scriptArgv } from './run-command.ts';

export type NamespaceWanted = 'auto' | 'off' | 'required';

export type ConfinementParts = {
  readonly namespace: NamespaceWanted;
  readonly limits: CommandLimits;
  readonly env: Environment;
  readonly log: Logger;
};

const TRIAL_MS = 20_000;
/** As no shell and no unshare ends by itself. */
const AS_EXPECTED = 42;
/** It is not init, it sees whoever is, and nobody from outside. */
const TRIAL = `[ "$$" -ne 1 ] && [ -d /proc/1 ] && [ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ] && exit ${String(AS_EXPECTED)}`;

const isRoot = process.getuid?.() === 0;

/** What a program says itself names the reason; that it did not begin is what follows from it. */
const saidOf = ({ stderr, problem, exitCode, signal }: CommandResult): string => {
  const said = stderr.trim();
  return said === '' ? (problem ?? `it ended with ${String(exitCode ?? signal)}`) : said;
};

const trial = (confinement: Confinement, script: string, env: Environment): Promise<CommandResult> =>
  runCommand({ argv: scriptArgv(script), cwd: '/', env, timeoutMs: TRIAL_MS, confinement });

const locate = async (name: string, env: Environment): Promise<string> => {
  const found = await findProgram(name, '/', env['PATH']);
  if (found === undefined) throw new ConfigError(`there is no ${name}, which is part of util-linux`);
  return found;
};

const namespaceHere = async (env: Environment): Promise<Namespace> => {
  const unshare = await locate('unshare', env);
  const namespace: Namespace = isRoot
    ? { unshare }
    : { unshare, user: { setpriv: await locate('setpriv', env) } };
  const tried = await trial({ limit: [], namespace }, TRIAL, env);
  if (tried.exitCode !== AS_EXPECTED) throw new ConfigError(saidOf(tried));
  return namespace;
};

/** A namespace of processes if there can be one. It is tried once: in containers it depends on how they were started. */
const namespaceFor = async ({ namespace, env, log }: ConfinementParts): Promise<Namespace | undefined> => {
  if (namespace === 'off') return undefined;
  try {
    const here = await namespaceHere(env);
    log.info({ user: here.user !== undefined }, 'commands have a namespace of processes');
    return here;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const why = error.message;
    if (namespace === 'required')
      throw new ConfigError(`HOLDPOINT_COMMAND_NAMESPACE: commands cannot have one here: ${why}`);
    log.info(
      { why },
      'commands have a process group alone: this machine gives them no namespace of processes',
    );
    return undefined;
  }
};

/** Limits that are asked for and cannot be applied end the start: whoever asks for them relies on them. */
const limitFor = async ({ limits, env }: ConfinementParts): Promise<readonly string[]> => {
  const args = limitArgs(limits);
  if (args.length === 0) return [];
  if (limits.processes !== undefined && isRoot)
    throw new ConfigError(
      'HOLDPOINT_COMMAND_PROCESSES: root is bound by no number of processes; run the executor as another user',
    );
  const prlimit = await locate('prlimit', env).catch((cause: unknown) => {
    throw new ConfigError('HOLDPOINT_COMMAND_*: limits need prlimit, which is part of util-linux', { cause });
  });
  return [prlimit, ...args, '--'];
};

/** How commands are bounded on this machine. Throws `ConfigError` when they cannot be as they are to be. */
export const createConfinement = async (parts: ConfinementParts): Promise<Confinement> => {
  const limit = await limitFor(parts);
  const namespace = await namespaceFor(parts);
  const confinement = { ...UNCONFINED, limit, namespace };
  if (limit.length === 0) return confinement;
  const tried = await trial(confinement, `exit ${String(AS_EXPECTED)}`, parts.env);
  if (tried.exitCode !== AS_EXPECTED)
    throw new ConfigError(`HOLDPOINT_COMMAND_*: the limits cannot be applied here: ${saidOf(tried)}`);
  return confinement;
};
