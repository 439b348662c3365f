import { ConfigError } from '@holdpoint/runtime/service/config';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Environment } from './command-env.ts';
import { type Confinement, type Namespace, UNCONFINED } from './confinement.ts';
import { findCommand } from './find-command.ts';
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
/** An exit code that neither a shell nor unshare uses. */
const AS_EXPECTED = 42;
/** Checks that it is not the init, sees the init, and sees no process from outside. */
const TRIAL = `[ "$$" -ne 1 ] && [ -d /proc/1 ] && [ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ] && exit ${String(AS_EXPECTED)}`;

const isRoot = process.getuid?.() === 0;

/** The message of the process itself names the cause. */
const saidOf = ({ stderr, problem, exitCode, signal }: CommandResult): string => {
  const said = stderr.trim();
  return said === '' ? (problem ?? `it ended with ${String(exitCode ?? signal)}`) : said;
};

const trial = (confinement: Confinement, script: string, env: Environment): Promise<CommandResult> =>
  runCommand({ argv: scriptArgv(script), cwd: '/', env, timeoutMs: TRIAL_MS, confinement });

const locate = async (name: string, env: Environment): Promise<string> => {
  const found = await findCommand(name, '/', env['PATH']);
  if (found === undefined) throw new ConfigError(`${name} not found: install util-linux`);
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

/** A PID namespace, if the machine allows it. It is tried once: in containers it depends on their options. */
const namespaceFor = async ({ namespace, env, log }: ConfinementParts): Promise<Namespace | undefined> => {
  if (namespace === 'off') return undefined;
  try {
    const here = await namespaceHere(env);
    log.info({ user: here.user !== undefined }, 'commands run in a PID namespace');
    return here;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const why = error.message;
    if (namespace === 'required')
      throw new ConfigError(`HOLDPOINT_PROCESS_SANDBOX: PID namespaces do not work here: ${why}`);
    log.info({ why }, 'commands run in a process group only: PID namespaces do not work here');
    return undefined;
  }
};

/** Throws when configured limits cannot be applied: the operator relies on them. */
const limitFor = async ({ limits, env }: ConfinementParts): Promise<readonly string[]> => {
  const args = limitArgs(limits);
  if (args.length === 0) return [];
  if (limits.processes !== undefined && isRoot)
    throw new ConfigError(
      'HOLDPOINT_PROCESS_MAX_PROCESSES: root ignores this limit; run the executor as another user',
    );
  const prlimit = await locate('prlimit', env).catch((cause: unknown) => {
    throw new ConfigError('HOLDPOINT_PROCESS_*: limits need prlimit: install util-linux', { cause });
  });
  return [prlimit, ...args, '--'];
};

/** The confinement of commands on this machine. Throws `ConfigError` when the configured one is not possible. */
export const createConfinement = async (parts: ConfinementParts): Promise<Confinement> => {
  const limit = await limitFor(parts);
  const namespace = await namespaceFor(parts);
  const confinement = { ...UNCONFINED, limit, namespace };
  if (limit.length === 0) return confinement;
  const tried = await trial(confinement, `exit ${String(AS_EXPECTED)}`, parts.env);
  if (tried.exitCode !== AS_EXPECTED)
    throw new ConfigError(`HOLDPOINT_PROCESS_*: the limits do not work here: ${saidOf(tried)}`);
  return confinement;
};
