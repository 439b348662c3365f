/** A wrong setting. The message names each variable and the expected value, and never shows a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** sysexits.h: the configuration is wrong, so that starting again will not help. */
export const EXIT_CONFIG = 78;

/** Former names of settings, with the names that replace them. */
export const RENAMED_SETTINGS: Readonly<Record<string, string>> = {
  HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: 'HOLDPOINT_TRUST_FILE',
  HOLDPOINT_POOL: 'HOLDPOINT_EXECUTOR_POOLS',
  HOLDPOINT_POOLS: 'HOLDPOINT_DEPLOYMENT_POOLS',
  HOLDPOINT_TARGET_MAX: 'HOLDPOINT_MAX_CONCURRENT_PER_TARGET',
  HOLDPOINT_EFFECTS_MAX: 'HOLDPOINT_MAX_CONCURRENT_EFFECTS',
  HOLDPOINT_COMMANDS_MAX: 'HOLDPOINT_MAX_CONCURRENT_PROCESSES',
  HOLDPOINT_STATE: 'HOLDPOINT_STATE_DIR',
  HOLDPOINT_JOURNAL: 'HOLDPOINT_JOURNAL_DIR',
  HOLDPOINT_CIRCUIT_TRIES_MIN: 'HOLDPOINT_CIRCUIT_MIN_REQUESTS',
  HOLDPOINT_PROCESS_SANDBOX: 'HOLDPOINT_WORK',
  HOLDPOINT_COMMAND_ENV: 'HOLDPOINT_PROCESS_ENV',
  HOLDPOINT_COMMAND_MEMORY_MIB: 'HOLDPOINT_PROCESS_MEMORY_MIB',
  HOLDPOINT_COMMAND_PROCESSES: 'HOLDPOINT_PROCESS_MAX_PROCESSES',
  HOLDPOINT_COMMAND_FILE_MIB: 'HOLDPOINT_PROCESS_FILE_MIB',
  HOLDPOINT_COMMAND_CPU_SECONDS: 'HOLDPOINT_PROCESS_CPU_SECONDS',
  HOLDPOINT_CRASH: 'HOLDPOINT_TEST_CRASH_POINT',
  HOLDPOINT_DISCORD_API: 'HOLDPOINT_TEST_DISCORD_API',
  HOLDPOINT_CONSOLE_FOLDER: 'HOLDPOINT_CONSOLE_DIR',
};

/** Names every former name that `env` sets, with its new name; undefined if there is none. */
export const formerSettings = (
  env: Readonly<Record<string, string | undefined>>,
  concerns: (name: string) => boolean = () => true,
): string | undefined => {
  const found = Object.entries(RENAMED_SETTINGS).filter(([old, name]) => env[old] && concerns(name));
  if (found.length === 0) return undefined;
  return found.map(([old, name]) => `${old}: renamed to ${name}`).join('; ');
};
