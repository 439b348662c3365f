import { ADVANCED, JoinEnv, readEnv, readSecretFile, ServiceEnv } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { type KnownPrincipal, readPrincipals } from './adapters/identity/principals/principals-file.ts';
import { checkJwks } from './adapters/identity/oidc/keys.ts';
import { IdentityEnv, type OidcSettings, oidcSettings } from './adapters/identity/oidc/settings.ts';
import { SignInEnv, type SignInSettings, signInSettings } from './adapters/identity/sign-in/settings.ts';
import { type GrantKeys, KEY_FILE, parseGrantKeys } from './adapters/keyring.ts';
import { readPolicy } from './adapters/policy-file.ts';
import type { CompiledFloor } from './policy/compile-floor.ts';
import { DiscordEnv, type DiscordSettings, readDiscord } from './surfaces/discord/settings.ts';
import { ConsoleEnv } from './surfaces/console/settings.ts';
import { WebEnv } from './surfaces/http/settings.ts';
import { WebhookEnv, type WebhookSettings, webhookSettings } from './surfaces/webhook/settings.ts';

const isSet = (env: { readonly [name: string]: unknown }, name: string): boolean =>
  env[name] !== undefined && env[name] !== '';

export const ApprovalsEnv = ServiceEnv.extend({
  HOLDPOINT_GRANT_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'File with Ed25519 private keys, PKCS#8 PEM; read again when it changes. The first key signs, the others are published beside it; public keys in the file are retired keys, published for verifying the audit log',
    ),
  HOLDPOINT_GRANT_KEY: z
    .string()
    .optional()
    .describe(
      'Content of `HOLDPOINT_GRANT_KEY_FILE`, for platforms that pass secrets in the environment. Set one of the two; a change needs a restart',
    )
    .meta(ADVANCED),
  HOLDPOINT_ROLLBACK_RULE: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      '`on`: the [built-in standing rule](../approvals.md#the-built-in-rule) approves rollbacks in isolated worktrees; `off`: an approver decides',
    ),
  HOLDPOINT_POLICY_FILE: z
    .string()
    .optional()
    .describe(
      'JSON file with the [policy floor](../approvals.md#the-policy-floor): what every approval has to satisfy; read again when it changes. Default: the built-in floor',
    ),
  ...JoinEnv.shape,
  ...IdentityEnv.shape,
  ...SignInEnv.shape,
  ...WebEnv.shape,
  ...ConsoleEnv.shape,
  ...DiscordEnv.shape,
  ...WebhookEnv.shape,
}).refine((env) => isSet(env, 'HOLDPOINT_GRANT_KEY_FILE') !== isSet(env, 'HOLDPOINT_GRANT_KEY'), {
  path: ['HOLDPOINT_GRANT_KEY_FILE'],
  message: 'set either this or HOLDPOINT_GRANT_KEY',
  // Checked even when other settings are invalid, so that all problems are reported at once.
  when: () => true,
});

/** For tests only, so it is no documented setting. */
const TestEnv = z.object({
  HOLDPOINT_TEST_NOTICE_RETRY_MS: z.coerce.number().int().min(10).max(60_000).optional(),
});

export type ApprovalsConfig = {
  readonly env: z.infer<typeof ApprovalsEnv>;
  readonly grantKeys: GrantKeys;
  readonly grantKeyFile?: string;
  readonly policy: CompiledFloor;
  readonly principals: readonly KnownPrincipal[];
  readonly oidc: OidcSettings | undefined;
  readonly signIn: SignInSettings | undefined;
  readonly discord: DiscordSettings | undefined;
  readonly webhooks: WebhookSettings;
  /** Delay before the first repeat of a notice. Milliseconds. */
  readonly firstRetryMs?: number;
};

const readGrantKeys = ({
  HOLDPOINT_GRANT_KEY_FILE: file,
  HOLDPOINT_GRANT_KEY: text,
}: z.infer<typeof ApprovalsEnv>): Pick<ApprovalsConfig, 'grantKeys' | 'grantKeyFile'> =>
  file
    ? { grantKeys: parseGrantKeys(readSecretFile(KEY_FILE, file)), grantKeyFile: file }
    : { grantKeys: parseGrantKeys(text ?? '', 'HOLDPOINT_GRANT_KEY') };

export const readConfig = (environment: NodeJS.ProcessEnv): ApprovalsConfig => {
  const env = readEnv(ApprovalsEnv, environment);
  const oidc = oidcSettings(env);
  if (oidc !== undefined) checkJwks(oidc.jwks);
  const { HOLDPOINT_TEST_NOTICE_RETRY_MS: firstRetryMs } = readEnv(TestEnv, environment);
  return {
    env,
    ...readGrantKeys(env),
    policy: readPolicy(env.HOLDPOINT_POLICY_FILE),
    principals: readPrincipals(env.HOLDPOINT_PRINCIPALS_FILE),
    oidc,
    signIn: signInSettings(env, oidc),
    discord: readDiscord(env),
    webhooks: webhookSettings(env),
    ...(firstRetryMs !== undefined && { firstRetryMs }),
  };
};
