import { readFileSync } from 'node:fs';
import { parsePolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { followFile } from '@holdpoint/runtime/service/follow-file';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { compileFloor, type CompiledFloor } from '../policy/compile-floor.ts';
import { DEFAULT_FLOOR } from '../policy/default-floor.ts';

/** The setting that names the file. */
export const POLICY_FILE = 'HOLDPOINT_POLICY_FILE';

/** Throws `ConfigError` with the line of a syntax error, or with the path of every other one. */
export const parsePolicy = (text: string): CompiledFloor => {
  try {
    return compileFloor(parsePolicyFloor(text));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ConfigError(`${POLICY_FILE}: ${cause.message}`, { cause });
  }
};

/** Throws `ConfigError`. Without a file the built-in floor is in force. */
export const readPolicy = (path: string | undefined): CompiledFloor => {
  if (path === undefined || path === '') return DEFAULT_FLOOR;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`${POLICY_FILE}: the file cannot be read`, { cause });
  }
  return parsePolicy(text);
};

export type PolicySource = {
  readonly current: () => CompiledFloor;
  readonly source: 'default' | 'file';
  /** Why the latest content of the file is not in force. */
  readonly problem: () => string | undefined;
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** The floor in force. A changed file is read again; an invalid one leaves the floor as it was. */
export const followPolicy = (path: string | undefined, first: CompiledFloor, log: Logger): PolicySource => {
  const done = () => Promise.resolve();
  if (path === undefined || path === '')
    return { current: () => first, source: 'default', problem: () => undefined, look: done, stop: done };
  let problem: string | undefined;
  const followed = followFile(
    {
      name: POLICY_FILE,
      path,
      parse: parsePolicy,
      changed: ({ digest }) => {
        problem = undefined;
        log.info({ floor: digest }, 'policy floor reloaded');
      },
      failed: (error) => {
        problem = error instanceof ConfigError ? error.message : `${POLICY_FILE}: the file cannot be read`;
      },
    },
    first,
    log,
  );
  return { ...followed, source: 'file', problem: () => problem };
};
