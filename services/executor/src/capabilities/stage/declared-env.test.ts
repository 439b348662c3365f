import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSecrets, type StartSecrets } from '../../adapters/secrets/secrets.ts';
import {
  type Ordered,
  type StageRepository,
  stageRepository,
  stagesOf,
} from '../../../testing/stage-repository.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const RUN = 'cap.env.shell.command.run';
const SECRET = 'open-sesame-42';
const secretsFor = (...uses: readonly string[]): StartSecrets =>
  createSecrets(new Map([['TOKEN', { read: () => SECRET, uses: new Set(uses) }]]))();

type With = NonNullable<Ordered['input']>['with'];
const run = (command: string, args: With = {}, ordered: Ordered = {}, uses = RUN) =>
  stagesOf(repository)(uses, {
    secrets: secretsFor(RUN, 'cap.env.shell.cicd.run'),
    ...ordered,
    input: { with: { command, ...args } },
  });
const code = (ended: Promise<unknown>): Promise<unknown> =>
  ended.then(
    () => 'ended',
    (error: { readonly body?: { readonly code: string } }) => error.body?.code,
  );

describe('declared variables', () => {
  test.each([RUN, 'cap.env.shell.cicd.run'])(
    'declared variables are available to the scripts of %s',
    async (uses) => {
      const result = await run('echo "$A|$B|$C"', { env: { A: 'a b', B: 7, C: true } }, {}, uses);
      expect(result.outputs).toMatchObject({ stdout: 'a b|7|true\n' });
      const written = await run('echo "$A"', { env: '{"A": "$(exit 3)"}' }, {}, uses);
      expect(written.outputs).toMatchObject({ stdout: '$(exit 3)\n' });
    },
  );

  test('declared variables are available to a probe', async () => {
    const args = { env: { LIVE: 'live' }, probe: 'test -e "$LIVE"' };
    expect(await run('touch "$LIVE"; exit 3', args, { kind: 'deploy' })).toMatchObject({
      outcome: 'succeeded',
    });
  });

  test.each<[string, NonNullable<With>[string]]>([
    ['the search path of commands', { PATH: '/x' }],
    ['the loader', { LD_PRELOAD: '/x' }],
    ['the folder of git', { GIT_DIR: '/x' }],
    ['a variable of the executor', { HOLDPOINT_WORK: 'x' }],
    ['two variables in one name', { 'A=B': 'x' }],
    ['an empty name', { '': 'x' }],
    ['text with a NUL', { A: 'a\0b' }],
    ['a list', { A: ['x'] }],
    ['too many variables', { A: 'x'.repeat(40_000) }],
    ['invalid JSON', 'A=b'],
    ['JSON without an object', '["A"]'],
    ['a number', ['A']],
  ])('declared variables are texts with allowed names: %s is refused', async (_, env) => {
    expect(await code(run('touch ran', { env }))).toBe('EXECUTOR_INVALID_ARGUMENTS');
    expect(repository.has('ran')).toBe(false);
  });
});

describe('a secret in a declared variable', () => {
  const env = { TOKEN: 'x${secret:TOKEN}x' };

  test('a secret is available to the script, and hidden in its output', async () => {
    const lines: string[] = [];
    const script = String.raw`
      test "$TOKEN" = xopen-sesame-42x || exit 9
      echo "$TOKEN"; env | grep TOKEN >&2; printf %s "$TOKEN" | base64
      printf open-; sleep 0.1; printf ses; sleep 0.1; echo ame-42
      head -c 16380 /dev/zero | tr '\0' y; echo "$TOKEN"
      exit 3`;
    const result = await run(script, { env }, { lines });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 3 });
    const all = JSON.stringify({ result, lines });
    expect(lines.filter((line) => line.includes('[hidden]'))).toHaveLength(4);
    // Nor a part of it at a cut.
    expect(all).not.toMatch(/sesame|open-|me-42|b3Blbi1zZXNhbWUtN/);
    expect(lines.join('')).toContain(`${'y'.repeat(100)}x[hidden]x`);
  });

  test('a secret is hidden at the cut of a long output', async () => {
    // The start that is kept ends within the secret.
    const script = `head -c 65530 /dev/zero | tr '\\0' y; echo "$TOKEN"; seq 1 100000`;
    const { outputs } = await run(script, { env });
    expect(JSON.stringify(outputs)).not.toMatch(/open|sesame/);
  });

  test('a secret is refused for another capability, and in the script itself', async () => {
    const elsewhere = run('touch ran', { env }, { secrets: secretsFor('cap.http.request') });
    expect(await code(elsewhere)).toBe('EXECUTOR_SECRET_NOT_ALLOWED');
    expect(await code(run('touch ran', { env: { A: '${secret:OTHER}' } }))).toBe('EXECUTOR_SECRET_UNKNOWN');
    expect(await code(run('touch ran; echo ${secret:TOKEN}'))).toBe('EXECUTOR_INVALID_ARGUMENTS');
    expect(repository.has('ran')).toBe(false);
  });

  test('a probe gets the same secret as its effect, even if it can no longer be read', async () => {
    let reads = 0;
    const read = (): string => {
      reads += 1;
      if (reads > 1) throw new Error('gone');
      return SECRET;
    };
    const secrets = createSecrets(new Map([['TOKEN', { read, uses: new Set([RUN]) }]]))();
    const args = { env, probe: 'test -e live && test "$TOKEN" = xopen-sesame-42x' };
    const result = await run('touch live; exit 3', args, { kind: 'deploy', secrets });
    expect(result).toMatchObject({ outcome: 'succeeded' });
  });
});
