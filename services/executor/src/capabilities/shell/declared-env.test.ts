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

describe('the variables that a step declares', () => {
  test.each([RUN, 'cap.env.shell.cicd.run'])('are there for the scripts of %s', async (uses) => {
    const result = await run('echo "$A|$B|$C"', { env: { A: 'a b', B: 7, C: true } }, {}, uses);
    expect(result.outputs).toMatchObject({ stdout: 'a b|7|true\n' });
    const written = await run('echo "$A"', { env: '{"A": "$(exit 3)"}' }, {}, uses);
    expect(written.outputs).toMatchObject({ stdout: '$(exit 3)\n' });
  });

  test('are there for a probe as well', async () => {
    const args = { env: { LIVE: 'live' }, probe: 'test -e "$LIVE"' };
    expect(await run('touch "$LIVE"; exit 3', args, { kind: 'deploy' })).toMatchObject({
      outcome: 'succeeded',
    });
  });

  test.each<[string, NonNullable<With>[string]]>([
    ['where programs are found', { PATH: '/x' }],
    ['what is loaded into programs', { LD_PRELOAD: '/x' }],
    ['where git works', { GIT_DIR: '/x' }],
    ['one of the executor', { HOLDPOINT_WORK: 'x' }],
    ['two in one', { 'A=B': 'x' }],
    ['one without a name', { '': 'x' }],
    ['text with a NUL', { A: 'a\0b' }],
    ['a list', { A: ['x'] }],
    ['too much', { A: 'x'.repeat(40_000) }],
    ['text that is no JSON', 'A=b'],
    ['JSON that is no object', '["A"]'],
    ['no object', ['A']],
  ])('are text under names of their own: %s is refused', async (_, env) => {
    expect(await code(run('touch ran', { env }))).toBe('EXECUTOR_INVALID_ARGUMENTS');
    expect(repository.has('ran')).toBe(false);
  });
});

describe('a secret in a declared variable', () => {
  const env = { TOKEN: 'x${secret:TOKEN}x' };

  test('is there for the script, and hidden in all that it prints', async () => {
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

  test('is hidden where the middle of a long output is left out', async () => {
    // The start that is kept ends within the secret.
    const script = `head -c 65530 /dev/zero | tr '\\0' y; echo "$TOKEN"; seq 1 100000`;
    const { outputs } = await run(script, { env });
    expect(JSON.stringify(outputs)).not.toMatch(/open|sesame/);
  });

  test('is refused for another capability, and when it is named in the script itself', async () => {
    const elsewhere = run('touch ran', { env }, { secrets: secretsFor('cap.http.request') });
    expect(await code(elsewhere)).toBe('EXECUTOR_SECRET_NOT_ALLOWED');
    expect(await code(run('touch ran', { env: { A: '${secret:OTHER}' } }))).toBe('EXECUTOR_SECRET_UNKNOWN');
    expect(await code(run('touch ran; echo ${secret:TOKEN}'))).toBe('EXECUTOR_INVALID_ARGUMENTS');
    expect(repository.has('ran')).toBe(false);
  });

  test('is the same for the probe after an effect, though it cannot be read any more', async () => {
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
