import assert from 'node:assert/strict';
import { ApprovalsEnv, readConfig as readApprovals } from '@holdpoint/approvals/config';
import { ExecutorEnv, readConfig as readExecutor } from '@holdpoint/executor/config';
import { OrchestratorEnv } from '@holdpoint/orchestrator/config';
import { RecoveryEnv } from '@holdpoint/recovery/config';
import { ConfigError, readEnv } from '@holdpoint/runtime/config';
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

// Files that are there and hold something else, and ways to none. Nothing that could not be read to its end.
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
  ),
);

const environmentOf = (shape: object): fc.Arbitrary<Variables> => {
  const usual = {
    HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
    HOLDPOINT_DATABASE_URL: 'postgres://hp@127.0.0.1/holdpoint',
  };
  const any = Object.fromEntries(Object.keys(shape).map((name) => [name, values]));
  return fc
    .tuple(fc.constantFrom({}, usual), fc.record(any, { requiredKeys: [] }))
    .map(([sure, odd]) => ({ ...sure, ...odd }));
};

/** More than one line of this length nobody reads at a failed start. */
const COMPLAINT_MAX = 4_096;

/** Any environment is a configuration, or one line that names what is wrong and shows no value. */
export const environment = target<Input>({
  name: 'environment',
  runs: 80,
  reaches: ['ConfigError'],
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
      found.read(Object.fromEntries(Object.entries(env).map(([name, text]) => [name, textOf(text)])));
      return 'accepted';
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      assert.ok(!error.message.includes(CANARY));
      assert.match(error.message, /^[^\p{Cc}\p{Cf}]+$/u);
      assert.ok(error.message.length < COMPLAINT_MAX);
      return error.name;
    }
  },
});
