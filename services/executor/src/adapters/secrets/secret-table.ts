import { readFileSync } from 'node:fs';
import { ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

/** Valid names in `${secret:NAME}`. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

const For = z.array(z.string().min(1).max(512)).max(100).default([]);
const Entry = z.union([
  z.strictObject({ file: z.string().startsWith('/', 'an absolute path'), for: For }),
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), for: For }),
]);
const Table = z.strictObject({ secrets: z.record(z.string().regex(SECRET_NAME), Entry) });

/** One secret: its source, and its allowed uses. */
export type SecretSource = {
  /** Reads the current value, so that a replaced secret counts at once. Throws when it cannot be read. */
  readonly read: () => string;
  readonly uses: ReadonlySet<string>;
  /** Its file, which processes must not see. */
  readonly file?: string;
};
export type SecretTable = ReadonlyMap<string, SecretSource>;

const VARIABLE = 'HOLDPOINT_SECRETS_FILE';

const parse = (text: string): z.output<typeof Table> => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message may contain a part of the text.
    throw new ConfigError(`${VARIABLE}: the file is not JSON`);
  }
  const { success, data, error } = Table.safeParse(json);
  if (success) return data;
  const places = error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new ConfigError(
    `${VARIABLE}: not {"secrets": {"NAME": {"file": "/path", "for": ["https://api.example"]}}}, at ${places}`,
  );
};

const inEnvironment = (name: string, variable: string, env: NodeJS.ProcessEnv): (() => string) => {
  const value = env[variable];
  if (value === undefined || value === '')
    throw new ConfigError(`${VARIABLE}: secret ${name} needs the variable ${variable}, which is not set`);
  return () => value;
};

/** The secrets that a file describes. The file itself contains none. Throws `ConfigError`. */
export const readSecretTable = (path: string | undefined, env: NodeJS.ProcessEnv): SecretTable => {
  if (path === undefined || path === '') return new Map();
  const { secrets } = parse(readSecretFile(VARIABLE, path));
  return new Map(
    Object.entries(secrets).map(([name, entry]): [string, SecretSource] => {
      const read =
        'file' in entry
          ? () => readFileSync(entry.file, 'utf8').replace(/\r?\n$/, '')
          : inEnvironment(name, entry.env, env);
      return [name, { read, uses: new Set(entry.for), ...('file' in entry && { file: entry.file }) }];
    }),
  );
};
