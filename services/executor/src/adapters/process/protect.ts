import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Environment } from './command-env.ts';
import { type Confinement, hiddenFor } from './confinement.ts';
import { type ConfinementParts, createConfinement, memoryDefault, unconfined } from './create-confinement.ts';
import type { CommandLimits } from './limits.ts';
import type { WorkConfig } from './work-settings.ts';

/** Sockets of other services lie there: of Docker, of the session bus, of agents for keys. */
const RUN = '/run';
/** Name resolution needs the first two; on NixOS the programs of the PATH are in the others. */
const NEEDED_IN_RUN = [
  '/run/systemd/resolve',
  '/run/resolvconf',
  '/run/current-system',
  '/run/booted-system',
  '/run/wrappers',
];

export type ProtectParts = {
  readonly work: WorkConfig;
  readonly limits: CommandLimits;
  readonly env: Environment;
  readonly state: string;
  readonly journal: string;
  readonly workspace: string;
  readonly repositories: readonly string[];
  /** Files with secrets of the executor or of effects. */
  readonly secretFiles: readonly string[];
  readonly log: Logger;
};

export type WorkRules = {
  readonly confinement: Confinement;
  /** Why work that starts processes is refused; undefined when it is taken. */
  readonly refusal: string | undefined;
  /** One line for operators. */
  readonly summary: string;
};

const realIfThere = (path: string): readonly string[] => (existsSync(path) ? [realpathSync(path)] : []);

const partsFor = async (parts: ProtectParts): Promise<ConfinementParts> => {
  const { work, limits, env, state, journal, workspace, repositories, secretFiles } = parts;
  const home = env['HOME'] ?? homedir();
  const needed = ['/', '/etc', '/usr', '/tmp', process.execPath, home, workspace, ...repositories].flatMap(
    realIfThere,
  );
  const hidden = [RUN, ...(await hiddenFor(secretFiles, needed)), journal, ...work.hidden];
  return {
    limits: { ...limits, memoryBytes: limits.memoryBytes ?? memoryDefault() },
    env,
    state: realpathSync(state),
    network: work.network,
    user: work.user,
    hidden: [...new Set(hidden.flatMap(realIfThere))],
    shown: NEEDED_IN_RUN.flatMap(realIfThere),
    writable: work.writable,
  };
};

/** The confinement of this executor's processes, as wanted and as the machine allows. Throws `ConfigError`. */
export const protectFrom = async (parts: ProtectParts): Promise<WorkRules> => {
  const { work, log } = parts;
  const from = await partsFor(parts);
  if (work.wanted === 'unconfined') {
    const { confinement, gaps } = await unconfined({ ...from, limits: parts.limits });
    log.warn({ gaps }, 'processes of work are not confined');
    return { confinement, refusal: undefined, summary: `not confined: ${gaps.join(', ')} are exposed` };
  }
  const { confinement, problem, gaps } = await createConfinement(from);
  if (confinement.launcher === undefined) {
    // A person has approved the processes of effects.
    const bare = await unconfined({ ...from, limits: parts.limits });
    log.warn({ why: problem }, 'work that starts processes is refused: it cannot be confined here');
    return {
      confinement: bare.confinement,
      refusal: work.wanted === 'off' ? TAKES_NONE : CANNOT,
      summary: `refused, because it cannot be confined: ${problem ?? ''}`,
    };
  }
  const { namespaces, landlock } = confinement.launcher;
  log.info({ namespaces, landlock, network: work.network, gaps }, 'processes of work are confined');
  return {
    confinement,
    refusal: work.wanted === 'off' ? TAKES_NONE : undefined,
    summary: `confined; not protected: ${gaps.join(', ') || 'nothing known'}`,
  };
};

const TAKES_NONE = 'This executor takes no work: HOLDPOINT_WORK is off';
const CANNOT = 'This executor cannot confine work: see its log, or set HOLDPOINT_WORK';
