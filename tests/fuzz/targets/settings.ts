import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '@holdpoint/cli/bus/settings';
import { UsageError } from '@holdpoint/cli/kit/usage-error';
import fc from 'fast-check';
import { bodyFor } from '../hostile/body.ts';
import { nastyText } from '../hostile/strings.ts';
import { CANARY } from '../promises.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf, type Text, textOf } from '../text.ts';

type Input = {
  readonly env: Readonly<Record<string, Text | undefined>>;
  readonly running: Bytes | undefined;
  /** The running.json of the last start. */
  readonly pointer?: Bytes | undefined;
  readonly secret: Bytes;
};

const VARIABLES = [
  'HOLDPOINT_NATS_URL',
  'HOLDPOINT_NATS_SEED_FILE',
  'HOLDPOINT_TOKEN',
  'HOLDPOINT_TOKEN_FILE',
  'HOLDPOINT_RUNNING',
  'XDG_STATE_HOME',
  'HOME',
];
/** Stands for the secret file in the folder of a case. */
const SECRET = '<secret>';
/** The file of a running stack, and its folder. */
const RUNNING = '<running>';
const HOME = '<home>';
const paths = fc.oneof(
  nastyText,
  fc.constantFrom<Text>(SECRET, RUNNING, HOME, '/etc/hostname', '/', '.', `/${CANARY}`),
);

const running = fc.record(
  {
    natsUrl: fc.constantFrom('nats://127.0.0.1:4222', ''),
    natsSeedFile: fc.constant(SECRET),
    tokenFile: fc.constant(SECRET),
  },
  { requiredKeys: [] },
);

/** Runs in its own folder, where `running.json` may have any content. */
const inFolder = <Result>(act: (folder: string, secretFile: string) => Result): Result => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-fuzz-'));
  try {
    mkdirSync(join(folder, '.holdpoint', 'data'), { recursive: true });
    return act(folder, join(folder, '.holdpoint', 'data', 'secret'));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Any environment and files give settings, or one error that shows no secret. */
export const settings = target<Input>({
  name: 'settings',
  runs: 150,
  reaches: ['accepted', 'UsageError'],
  cases: {
    'environment and running.json': fc.record({
      env: fc.record(Object.fromEntries(VARIABLES.map((name) => [name, paths])), { requiredKeys: [] }),
      running: fc.option(bodyFor(running), { nil: undefined, freq: 8 }),
      pointer: fc.option(
        fc.oneof(
          fc.constant<Bytes>([RUNNING]),
          nastyText.map((each): Bytes => [each]),
        ),
        { nil: undefined },
      ),
      secret: fc.oneof(fc.constant<Bytes>(['hpt_secret']), bodyFor(fc.constant(CANARY))),
    }),
  },
  check: ({ env, running: text, pointer, secret }) =>
    inFolder((folder, secretFile) => {
      const runningFile = join(folder, '.holdpoint', 'data', 'running.json');
      const named = (value: string): string =>
        value.replaceAll(SECRET, secretFile).replaceAll(RUNNING, runningFile).replaceAll(HOME, folder);
      if (pointer !== undefined) {
        mkdirSync(join(folder, 'holdpoint'));
        writeFileSync(
          join(folder, 'holdpoint', 'running'),
          named(Buffer.from(bytesOf(pointer)).toString('utf8')),
          { mode: 0o600 },
        );
      }
      writeFileSync(secretFile, bytesOf(secret));
      if (text !== undefined)
        writeFileSync(
          join(folder, '.holdpoint', 'data', 'running.json'),
          named(Buffer.from(bytesOf(text)).toString('latin1')),
          'latin1',
        );
      const variables = Object.entries(env).map(
        ([name, value]) => [name, named(textOf(value ?? ''))] as const,
      );
      try {
        const { token = 'x', seed } = readSettings(Object.fromEntries(variables), folder);
        assert.match(token, /^\S+$/);
        if (typeof seed === 'function') assert.ok(seed().byteLength > 0);
        return 'accepted';
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        assert.ok(!error.message.includes(`"${CANARY}"`));
        return error.name;
      }
    }),
});
