import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  capabilitiesOf,
  type Ordered,
  type StageRepository,
  stageRepository,
  stagesOf,
  startOf,
} from '../../../testing/stage-repository.ts';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const RUN = 'cap.env.shell.command.run';
const run = (command: string, ordered: Ordered = {}, args: Record<string, string> = {}) =>
  stagesOf(repository)(RUN, { ...ordered, input: { ...ordered.input, with: { command, ...args } } });

describe('a script as work', () => {
  test('a script succeeds with exit code 0, and its output is available', async () => {
    const lines: string[] = [];
    expect(await run('echo out; echo err >&2', { lines })).toMatchObject({
      outcome: 'succeeded',
      exitCode: 0,
      outputs: { exit_code: 0, stdout: 'out\n', timed_out: false },
    });
    expect(lines.sort()).toEqual(['err', 'out']);
  });

  test('a script fails with any other exit code, and the end of its output is the hint', async () => {
    const result = await run('seq 1 20000; echo "the reason" >&2; exit 3');
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 3, outputs: { exit_code: 3 } });
    expect(result.detail).toMatch(/^the command ended with exit code 3 after /);
    expect(result.hint).toContain('the reason');
    expect(result.hint).toContain('\n20000');
    expect(Buffer.byteLength(result.hint ?? '')).toBeLessThanOrEqual(16_384);
    expect(result.outputs?.['stdout']).toSatisfy((text: string) => Buffer.byteLength(text) <= 65_536);
  });

  test('a script that takes too long fails', async () => {
    const result = await run('echo begun; sleep 300', { input: { timeoutMs: 1_000 } });
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 124,
      hint: 'begun',
      outputs: { timed_out: true },
    });
    expect(result.detail).toContain('timed out');
  });

  test('a killed script fails', async () => {
    const result = await run('kill -9 $$');
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 137 });
    expect(result.detail).toContain('was killed by SIGKILL');
  });

  test.each(['cap.env.shell.command.run', 'cap.env.shell.cicd.run'])(
    'the script of %s may have several argument names',
    async (uses) => {
      const stage = stagesOf(repository);
      expect(await stage(uses, { input: { with: { script: 'echo a' } } })).toMatchObject({
        outputs: { stdout: 'a\n' },
      });
      expect(await stage(uses, { input: { script: 'echo b' } })).toMatchObject({
        outputs: { stdout: 'b\n' },
      });
      await expect(stage(uses, { input: { with: { command: ' ' } } })).rejects.toThrow(CleanFailure);
    },
  );
});

describe('a script as an effect', () => {
  const effect = (command: string, probe?: string, ordered: Ordered = {}) =>
    run(command, { kind: 'deploy', ...ordered }, probe === undefined ? {} : { probe });

  test('a script with exit code 0 was applied', async () => {
    expect(await effect('echo live', 'exit 1')).toMatchObject({
      outcome: 'succeeded',
      outputs: { stdout: 'live\n' },
    });
  });

  test('a failed script without a probe is in doubt', async () => {
    await expect(effect('exit 3')).rejects.toThrow(OutcomeUnknown);
    await expect(effect('exit 3')).rejects.toThrow(/ended with exit code 3 .* there is no probe/);
  });

  test('the probe decides about a failed script: applied, not applied, or in doubt', async () => {
    expect(await effect('touch live; exit 3', 'test -e live')).toMatchObject({
      outcome: 'succeeded',
      exitCode: 0,
    });
    const refused = effect('exit 3', 'test -e never');
    await expect(refused).rejects.toThrow(CleanFailure);
    await expect(refused).rejects.toMatchObject({ body: { code: 'EXECUTOR_TARGET_REFUSED' } });
    const unsure = effect('exit 3', 'exit 7');
    await expect(unsure).rejects.toThrow(OutcomeUnknown);
    await expect(unsure).rejects.toThrow(/the probe gave no answer: it ended with exit code 7/);
  });

  test('a lost script is probed without running anything else', async () => {
    const ask = (probe?: string) => {
      const capability = capabilitiesOf(repository)(RUN);
      const input = { with: { command: 'touch ran', ...(probe !== undefined && { probe }) } };
      const start = startOf(capability, repository.root, { kind: 'deploy', epoch: 2, input });
      return capability.probe?.(start.input, start.context);
    };
    repository.write('live', '');
    expect(await ask('test -e live')).toMatchObject({
      found: 'applied',
      outputs: { outcome: 'succeeded', exitCode: 0, outputs: { stdout: '' } },
    });
    expect(await ask('test -e never')).toEqual({
      found: 'not_applied',
      reason: 'the probe reports: not applied',
    });
    expect(await ask('exit 7')).toMatchObject({
      found: 'unknown',
      reason: expect.stringContaining('exit code 7') as string,
    });
    expect(await ask('kill -9 $$')).toMatchObject({ found: 'unknown' });
    expect(await ask()).toMatchObject({ found: 'unknown' });
    expect(repository.has('ran')).toBe(false);
  });

  describe('undoing a script', () => {
    const undo = async (compensate?: string): Promise<unknown> => {
      const capability = capabilitiesOf(repository)(RUN);
      const input = { with: { command: 'touch live', ...(compensate !== undefined && { compensate }) } };
      const start = startOf(capability, repository.root, { kind: 'destructive_edit', input });
      const done = { effectId: 'e-done', input: start.input, outputs: {} };
      return capability.compensate?.(done, start.context);
    };

    test('the undo script runs', async () => {
      repository.write('live', '');
      expect(await undo('rm live')).toMatchObject({ outcome: 'succeeded' });
      expect(repository.has('live')).toBe(false);
    });

    test('without an undo script nothing happens', async () => {
      await expect(undo()).rejects.toMatchObject({ body: { code: 'EXECUTOR_INVALID_ARGUMENTS' } });
    });

    test('a failed undo script leaves an unknown outcome', async () => {
      await expect(undo('exit 3')).rejects.toThrow(OutcomeUnknown);
    });
  });

  test('a script that is cancelled while it runs is still probed', async () => {
    const controller = new AbortController();
    const running = effect('touch live; sleep 300', 'test -e live', { signal: controller.signal });
    await vi.waitFor(() => expect(repository.has('live')).toBe(true), { timeout: 30_000 });
    controller.abort();
    expect(await running).toMatchObject({ outcome: 'succeeded' });
  });

  test('a script that is cancelled before it begins, or without a lease, does nothing', async () => {
    const cancelled = effect('touch ran', undefined, { signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({ body: { code: 'EXECUTOR_CANCELLED' } });
    const over = (): never => {
      throw new CleanFailure({ code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'over' });
    };
    await expect(effect('touch ran', undefined, { assertInForce: over })).rejects.toThrow('over');
    expect(repository.has('ran')).toBe(false);
  });
});

describe('a stop condition', () => {
  const gate = (script?: string) =>
    stagesOf(repository)('control.gate.stop_condition', { input: script === undefined ? {} : { script } });

  test('a stop condition has the result of its script', async () => {
    expect(await gate('test -e a.txt')).toMatchObject({ outcome: 'succeeded' });
    expect(await gate('echo why; exit 4')).toMatchObject({ outcome: 'failed', exitCode: 4, hint: 'why' });
  });

  test('a stop condition without a script succeeds, and says so', async () => {
    for (const script of [undefined, '', ' \n'])
      expect(await gate(script)).toEqual({ outcome: 'succeeded', detail: 'gate: none configured' });
  });
});
