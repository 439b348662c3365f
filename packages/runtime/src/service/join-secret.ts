import type { z } from 'zod';
import type { Logger } from '../observability/log.ts';
import { ConfigError, type JoinEnv, joinSecretFile, readSecretFile, type ServiceEnv } from './config.ts';
import { type FollowedFile, followFile } from './follow-file.ts';

const VARIABLE = 'HOLDPOINT_JOIN_SECRET_FILE';
/** A shorter one could be guessed. */
const LENGTH_MIN = 20;

const parse = (text: string): string => {
  const secret = text.trim();
  if (secret.length < LENGTH_MIN)
    throw new ConfigError(`${VARIABLE}: at least ${String(LENGTH_MIN)} characters`);
  return secret;
};

/** The secret by which executors enrol at approvals, read again when it changes. Throws `ConfigError`. */
export const followJoinSecret = (
  env: ServiceEnv & z.infer<typeof JoinEnv>,
  log: Logger,
): Pick<FollowedFile<string>, 'current' | 'stop'> => {
  const path = joinSecretFile(env);
  return followFile({ name: VARIABLE, path, parse }, parse(readSecretFile(VARIABLE, path)), log);
};
