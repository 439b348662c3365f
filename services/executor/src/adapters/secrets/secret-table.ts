import { readFileSync } from 'node:fs';
import { ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

/** What a secret may be called: it stands in `${secret:NAME}`. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

const For = z.array(z.string().min(1).max(512)).max(100).default([]);
const Entry = z.union([
  z.strictObject({ file: z.string().startsWith('/', 'an absolute path'), for: For }),
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), for: For }),
]);
const Table = z.strictObject({ secrets: z.record(z.string().regex(SECRET_NAME), Entry) });

/** One secret: where it comes from, and what it may be used for. */
export type SecretSource = {
  /** Read anew each time, so that one that was replaced counts at once. Throws when it cannot be. */
  readonly read: () => string;
  readonly uses: ReadonlySet<string>;
};
export type SecretTable = ReadonlyMap<string, SecretSource>;

const VARIABLE = 'HOLDPOINT_SECRETS_FILE';

const parse = (text: string): z.output<typeof Table> => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // What the parser says of it may show a part of the text.
    throw new ConfigError(`${VARIABLE}: the file holds no JSON`);
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
    throw new ConfigError(`${VARIABLE}: the secret ${name} is to come from ${variable}, which is not set`);
  return () => value;
};

/** The secrets that a file names. It holds none itself. Throws `ConfigError`. */
export const readSecretTable = (path: string | undefined, env: NodeJS.ProcessEnv): SecretTable => {
  if (path === undefined || path === '') return new Map();
  const { secrets } = parse(readSecretFile(VARIABLE, path));
  return new Map(
    Object.entries(secrets).map(([name, entry]): [string, SecretSource] => {
      const read =
        'file' in entry
          ? () => readFileSync(entry.file, 'utf8').replace(/\r?\n$/, '')
          : inEnvironment(name, entry.env, env);
      return [name, { read, uses: new Set(entry.for) }];
    }),
  );
};
