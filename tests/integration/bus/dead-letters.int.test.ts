import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

/** A dead letter as `dlq list --json` prints it. */
type Listed = { readonly sequence: number; readonly letter: { readonly body: string } };

describe('a dead letter on the command line', () => {
  let system: System;
  let holdpoint: ReturnType<typeof commandLine>;
  beforeAll(async () => {
    system = await createSystem();
    await system.start('orchestrator');
    holdpoint = commandLine(system);
  });
  afterAll(() => system.stop());

  const list = async (): Promise<readonly Listed[]> =>
    (JSON.parse((await holdpoint('dlq', 'list', '--json')).out) as { readonly items: readonly Listed[] })
      .items;
  const buried = async (body: string): Promise<string> => {
    await publish(system.client.connection, 'hp.cmd.task.cancel', body);
    const { sequence } = await until('it is listed', async () =>
      (await list()).find(({ letter }) => letter.body === body),
    );
    return String(sequence);
  };
  const isListed = async (number: string): Promise<boolean> =>
    (await list()).some(({ sequence }) => String(sequence) === number);

  test('a dead letter is retried, and stays while its cause remains', async () => {
    const id = newTaskId();
    const number = await buried(JSON.stringify({ id }));
    const refused = await holdpoint('dlq', 'retry', number);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('ORCHESTRATOR_UNKNOWN_TASK');
    expect(await isListed(number)).toBe(true);

    const inputs = { file: 'sample.txt', line: 'late' };
    await system.client.ask('orchestrator', 'submit', { id, workflow: 'sample', goal: 'come late', inputs });
    const { code, out } = await holdpoint('dlq', 'retry', number);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(`^dead letter ${number} is retried: ${userInfo().username}, `),
    ]);
    await waitForPhase(system.client, id, 'cancelled');
    expect(await isListed(number)).toBe(false);
  });

  test('a dead letter is dropped in the name of a person, and stays dropped', async () => {
    const number = await buried('{');
    const { out } = await holdpoint('dlq', 'drop', number, '--by', 'grace', '--json');
    const settled = { service: 'orchestrator', sequence: Number(number), action: 'drop', by: 'grace' };
    expect(JSON.parse(out)).toMatchObject(settled);
    expect((await holdpoint('dlq', 'retry', number)).out).toMatch(
      `dead letter ${number} was already dropped: grace, `,
    );
    expect(await isListed(number)).toBe(false);
  });

  test('an unknown dead letter is refused', async () => {
    expect(await holdpoint('dlq', 'retry', '1000000')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no dead letter 1000000') as string,
    });
  });
});
