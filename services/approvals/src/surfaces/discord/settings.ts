import { createPublicKey, type KeyObject } from 'node:crypto';
import { FOR_TESTS, ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

/** Empty counts as unset: files of settings have empty values. */
const orNothing = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema);

const isHere = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host);

/** The bot's token is sent there. */
const isSafe = (text: string): boolean => {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere(url.hostname));
};

/** Settings of the Discord surface; off unless all are set. */
export const DiscordEnv = z.object({
  HOLDPOINT_DISCORD_TOKEN_FILE: orNothing(z.string().optional()).describe(
    "File with the bot's token. This and the next two settings together turn on the Discord surface",
  ),
  HOLDPOINT_DISCORD_CHANNEL: orNothing(
    z
      .string()
      .regex(/^\d{1,20}$/, 'a channel id: up to 20 digits')
      .optional(),
  ).describe('Id of the Discord channel'),
  HOLDPOINT_DISCORD_PUBLIC_KEY: orNothing(
    z
      .string()
      .regex(/^[0-9a-f]{64}$/, '64 hex digits')
      .optional(),
  ).describe("The application's public key, 64 hex digits. Discord signs interactions with it"),
  HOLDPOINT_TEST_DISCORD_API: orNothing(
    z
      .string()
      .refine(isSafe, 'an https URL, or an http URL of localhost')
      .default('https://discord.com/api/v10'),
  )
    .describe("Base URL of Discord's API, for tests")
    .meta(FOR_TESTS),
});

export type DiscordSettings = {
  /** The bot's token. It is sent only in the header of requests to Discord. */
  readonly token: string;
  readonly channel: string;
  readonly publicKey: KeyObject;
  /** Without a trailing slash. */
  readonly api: string;
};

const NEEDED = [
  'HOLDPOINT_DISCORD_TOKEN_FILE',
  'HOLDPOINT_DISCORD_CHANNEL',
  'HOLDPOINT_DISCORD_PUBLIC_KEY',
] as const;

/** Characters allowed in a header: an error about others would show the token. */
const TOKEN = /^[\u0021-\u007e]{1,512}$/;

const readToken = (path: string): string => {
  const token = readSecretFile('HOLDPOINT_DISCORD_TOKEN_FILE', path);
  if (!TOKEN.test(token))
    throw new ConfigError('HOLDPOINT_DISCORD_TOKEN_FILE: the file contains no bot token');
  return token;
};

/** An Ed25519 key from its 32 bytes. */
const readKey = (hex: string): KeyObject => {
  const x = Buffer.from(hex, 'hex').toString('base64url');
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch (cause) {
    throw new ConfigError('HOLDPOINT_DISCORD_PUBLIC_KEY: not an Ed25519 key', { cause });
  }
};

const withoutSlashes = (url: string): string => {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
};

/** Undefined when the Discord surface is off. Throws `ConfigError` with the missing settings. */
export const readDiscord = (env: z.infer<typeof DiscordEnv>): DiscordSettings | undefined => {
  const {
    HOLDPOINT_DISCORD_TOKEN_FILE: tokenFile,
    HOLDPOINT_DISCORD_CHANNEL: channel,
    HOLDPOINT_DISCORD_PUBLIC_KEY: publicKey,
    HOLDPOINT_TEST_DISCORD_API: api,
  } = env;
  const missing = NEEDED.filter((name) => env[name] === undefined);
  if (missing.length === NEEDED.length) return undefined;
  if (tokenFile === undefined || channel === undefined || publicKey === undefined)
    throw new ConfigError(`${missing.join(', ')}: missing; Discord needs ${NEEDED.join(', ')}`);
  return {
    token: readToken(tokenFile),
    channel,
    publicKey: readKey(publicKey),
    api: withoutSlashes(api),
  };
};
