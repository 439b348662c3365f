import { randomBytes } from 'node:crypto';
import type { Session } from '../kit/session.ts';
import type { Sink } from '../kit/sinks.ts';

const SECRET_BYTES = 32;

/** A secret that is generated here; only its hash is sent. */
export const newSecret = (prefix: 'hpt' | 'hpc' = 'hpt'): string =>
  `${prefix}_${randomBytes(SECRET_BYTES).toString('base64url')}`;

const KEEP_IT =
  'The secret is shown only once. Store it safely and pass it as HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE.';

/** Writes the file first: a token whose secret cannot be stored must not exist. */
export const writeInto = async <Result>(
  sink: Sink | undefined,
  secret: string,
  make: () => Promise<Result>,
): Promise<Result> => {
  try {
    sink?.write(Buffer.from(`${secret}\n`));
    const result = await make();
    sink?.done();
    return result;
  } catch (error) {
    sink?.failed();
    throw error;
  }
};

/** Shows a new secret once, or names the file that holds it. */
export const showSecret = (
  { lines, warn, terminal }: Pick<Session, 'lines' | 'warn' | 'terminal'>,
  text: readonly string[],
  secret: string,
  file: string | undefined,
): void => {
  if (file !== undefined) return lines([...text, `  the secret is in ${file}`]);
  if (terminal() !== undefined) return lines([...text, `  ${secret}`, KEEP_IT]);
  // A pipe gets only the secret.
  for (const line of text) warn(line);
  lines([secret]);
};
