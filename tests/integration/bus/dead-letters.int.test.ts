import type { MsgHdrs } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

/** A dead letter as `dlq list --json` prints it. */
type Listed = { readonly id: string; readonly letter: { readonly body: string } };

describe('a dead letter on the command line', () => {
  let system: System;
  let holdpoint: ReturnType<typeof commandLine>;
  beforeAll(async () => {
    system = await createSystem();
    await system.start('orchestrator');
    await system.start('approvals');
    holdpoint = commandLine(system);
  });
  afterAll(() => system.stop());

  const list = async (): Promise<readonly Listed[]> =>
    (JSON.parse((await holdpoint('dlq', 'list', '--json')).out) as { readonly items: readonly Listed[] })
      .items;
  const buried = async (body: string): Promise<string> => {
    await publish(system.client.connection, 'hp.cmd.task.cancel', body);
    const { id } = await until('it is listed', async () =>
      (await list()).find(({ letter }) => letter.body === body),
    );
    return id;
  };
  const isListed = async (letter: string): Promise<boolean> => (await list()).some(({ id }) => id === letter);

  test('a dead letter is retried, and stays while its cause remains', async () => {
    const id = newTaskId();
    const letter = await buried(JSON.stringify({ id }));
    const refused = await holdpoint('dlq', 'resolve', letter, 'retry');
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('ORCHESTRATOR_UNKNOWN_TASK');
    expect(await isListed(letter)).toBe(true);

    const inputs = { file: 'sample.txt', line: 'late' };
    await system.client.ask('orchestrator', 'submit', { id, workflow: 'sample', goal: 'come late', inputs });
    const { code, out } = await holdpoint('dlq', 'resolve', letter, 'retry');
    expect([code, out]).toEqual([0, expect.stringMatching(`^dead letter ${letter} is retried: operator, `)]);
    await waitForPhase(system.client, id, 'cancelled');
    expect(await isListed(letter)).toBe(false);
  });

  test('a retry decides the whole message, also a large one', async () => {
    const id = newTaskId();
    const body = JSON.stringify({ id, filler: 'f'.repeat(600_000) });
    await publish(system.client.connection, 'hp.cmd.task.cancel', body);
    const letter = await until('it is listed', async () =>
      (await list()).find((each) => each.letter.body.includes(id)),
    );
    expect(letter.letter.body).toHaveLength(4_096);
    const inputs = { file: 'sample.txt', line: 'late' };
    await system.client.ask('orchestrator', 'submit', { id, workflow: 'sample', goal: 'come late', inputs });
    expect(await holdpoint('dlq', 'resolve', letter.id, 'retry')).toMatchObject({ code: 0 });
    await waitForPhase(system.client, id, 'cancelled');
  });

  test('a dead letter is dropped in the name of the owner of the token, and stays dropped', async () => {
    const letter = await buried('{');
    const { out } = await holdpoint('dlq', 'resolve', letter, 'drop', '--json');
    expect(JSON.parse(out)).toMatchObject({ id: letter, action: 'drop', by: 'operator' });
    expect((await holdpoint('dlq', 'resolve', letter, 'retry')).out).toMatch(
      `dead letter ${letter} was already dropped: operator, `,
    );
    expect(await isListed(letter)).toBe(false);
  });

  test('a message with a NUL in a header has a dead letter, and later messages are handled', async () => {
    const raw = { encode: () => Buffer.from('NATS/1.0\r\nce-id: a\0b\r\n\r\n') } as unknown as MsgHdrs;
    system.client.connection.publish('hp.cmd.task.cancel', '[1]', { headers: raw });
    await until('it is listed', async () => (await list()).find(({ letter }) => letter.body === '[1]'));
    const id = newTaskId();
    await publish(
      system.client.connection,
      'hp.cmd.task.submit',
      JSON.stringify({ id, workflow: 'sample', goal: 'come after it' }),
    );
    await waitForPhase(system.client, id, 'awaiting_approval');
  });

  test('an unknown dead letter is refused', async () => {
    for (const id of ['orchestrator-1000000', 'nothing-1', '17'])
      expect(await holdpoint('dlq', 'resolve', id, 'retry')).toMatchObject({
        err: expect.stringContaining(id) as string,
      });
  });

  test('a dead letter survives the loss of all JetStream data', async () => {
    const letter = await buried('{"lost":');
    await system.nats.wipe();
    await until(
      'the service answers again',
      async () => (await list().catch(() => [])).length > 0 || undefined,
    );
    expect(await isListed(letter)).toBe(true);
  });
});
