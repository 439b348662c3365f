import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApprovalsEnv, readConfig as readApprovals } from '@holdpoint/approvals/config';
import { ExecutorEnv, readConfig as readExecutor } from '@holdpoint/executor/config';
import { OrchestratorEnv } from '@holdpoint/orchestrator/config';
import { RecoveryEnv } from '@holdpoint/recovery/config';
import { ConfigError, readEnv } from '@holdpoint/runtime/service/config';
import fc from 'fast-check';
import { nastyText } from '../hostile/strings.ts';
import { CANARY } from '../promises.ts';
import { target } from '../target.ts';
import { type Text, textOf } from '../text.ts';

type Variables = Readonly<Record<string, Text>>;
type Input = { readonly service: string; readonly env: Variables };

const services = {
  orchestrator: {
    shape: OrchestratorEnv.shape,
    read: (env: NodeJS.ProcessEnv) => readEnv(OrchestratorEnv, env),
  },
  approvals: { shape: ApprovalsEnv.shape, read: readApprovals },
  executor: { shape: ExecutorEnv.shape, read: readExecutor },
  recovery: { shape: RecoveryEnv.shape, read: (env: NodeJS.ProcessEnv) => readEnv(RecoveryEnv, env) },
} as const;

// Existing files with other content, and missing paths. None is endless.
const values: fc.Arbitrary<Text> = fc.oneof(
  { weight: 2, arbitrary: nastyText },
  fc.constantFrom<Text>(
    CANARY,
    `nats://user:${CANARY}@127.0.0.1:4222`,
    'nats://127.0.0.1:4222',
    'postgres://hp@127.0.0.1:5432/holdpoint',
    import.meta.filename,
    import.meta.dirname,
    '/dev/null',
    '0',
    '65536',
    '-1',
    '0x10',
    '1e3',
    'debug',
    'after_commit:1',
    '["my-agent","--print"]',
    '[""]',
    '{"a":1}',
    { repeat: '[', times: 100_000 },
    `${import.meta.dirname}:/`,
    `:${import.meta.dirname}/..:`,
    'relative:/no/such/folder',
    'PATH,HOME',
    'HOLDPOINT_TOKEN',
    'https://api.example:8443, https://*.example',
  ),
);

let folder: string | undefined;
/** Files as `npm start` writes them, so that one wrong value does not hide behind others. */
const filesOf = (): string => {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-fuzz-'));
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const approvals = [publicKey.export({ type: 'spki', format: 'pem' })];
  writeFileSync(join(folder, 'trust.json'), JSON.stringify({ approvals }));
  writeFileSync(join(folder, 'private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(
    join(folder, 'principals.json'),
    JSON.stringify({
      principals: [{ name: 'operator', groups: ['operators'], tokenSha256: 'f'.repeat(64) }],
    }),
  );
  writeFileSync(join(folder, 'secret'), 'a-secret');
  return folder;
};

/** Stands for the folder, which differs in each run. */
const FILES = '<files>';
const USUAL: Variables = {
  HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
  HOLDPOINT_NATS_SEED_FILE: `${FILES}/secret`,
  HOLDPOINT_DATABASE_URL: 'postgres://hp@127.0.0.1/holdpoint',
  HOLDPOINT_DATABASE_PASSWORD_FILE: `${FILES}/secret`,
  HOLDPOINT_TRUST_FILE: `${FILES}/trust.json`,
  HOLDPOINT_GRANT_KEY_FILE: `${FILES}/private.pem`,
  HOLDPOINT_PRINCIPALS_FILE: `${FILES}/principals.json`,
  HOLDPOINT_WORKSPACE: `${FILES}/workspace`,
  HOLDPOINT_REPOSITORIES: FILES,
};

const environmentOf = (shape: object): fc.Arbitrary<Variables> => {
  const names = Object.keys(shape);
  const any = Object.fromEntries(names.map((name) => [name, values]));
  const one = fc.tuple(fc.constantFrom(...names), values).map(([name, value]) => ({ [name]: value }));
  return fc.oneof(
    { weight: 3, arbitrary: one.map((odd) => ({ ...USUAL, ...odd })) },
    {
      weight: 1,
      arbitrary: fc.record(any, { requiredKeys: [] }).map((odd) => ({ ...USUAL, ...odd }) as Variables),
    },
    { weight: 1, arbitrary: fc.record(any, { requiredKeys: [] }).map((odd) => odd as Variables) },
  );
};

/** The longest useful error line of a failed start. */
const COMPLAINT_MAX = 4_096;

/** Any environment is a configuration, or one error line that names the problem and shows no value. */
export const environment = target<Input>({
  name: 'environment',
  runs: 80,
  reaches: ['accepted', 'ConfigError'],
  cases: Object.fromEntries(
    Object.entries(services).map(([service, { shape }]) => [
      service,
      fc.record({ service: fc.constant(service), env: environmentOf(shape) }),
    ]),
  ),
  check: ({ service, env }) => {
    const found = Object.entries(services).find(([name]) => name === service)?.[1];
    if (found === undefined) throw new Error(`there is no ${service}`);
    try {
      const variables = Object.entries(env).map(
        ([name, text]) => [name, textOf(text).replaceAll(FILES, filesOf())] as const,
      );
      found.read(Object.fromEntries(variables));
      return 'accepted';
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      assert.ok(!error.message.includes(CANARY));
      assert.match(error.message, /^[^\p{Cc}\p{Cf}]+$/u);
      assert.ok(error.message.length < COMPLAINT_MAX);
      return error.name;
    }
  },
  end: () => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
    folder = undefined;
    return Promise.resolve();
  },
});
