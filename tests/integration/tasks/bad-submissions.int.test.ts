import { createHash } from 'node:crypto';
import { BODY_SHOWN_BYTES } from '@holdpoint/contracts/bus/dead-letter';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { type DeadLetters, watchDeadLetters } from '../../kit/bus/dead-letters.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, newTaskId, submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';

let system: System;
let letters: DeadLetters;
beforeAll(async () => {
  system = await createSystem();
  await system.startAll();
  letters = watchDeadLetters(system.client.connection);
});
afterAll(() => system.stop());

let id: string;
let count = 0;
beforeEach(() => {
  count += 1;
  id = `message-${String(count)}`;
});

const good = { workflow: 'sample', goal: 'append a line' };
const json = (value: unknown): string => JSON.stringify(value);
const tooLarge = json({ ...good, inputs: { line: 'x'.repeat(PAYLOAD_MAX_BYTES) } });

/** A kind of bad submission: its name, its body, and the code of the refusal. */
const bad: readonly (readonly [string, string | Uint8Array, string, number])[] = [
  ['without a goal', json({ workflow: 'sample' }), 'CONTRACT_INVALID', 400],
  ['with an empty goal', json({ ...good, goal: '  ' }), 'CONTRACT_INVALID', 400],
  ['with a goal that is no text', json({ ...good, goal: 7 }), 'CONTRACT_INVALID', 400],
  ['without a workflow', json({ goal: 'x' }), 'CONTRACT_INVALID', 400],
  ['with an unknown workflow', json({ ...good, workflow: 'no-such' }), 'ORCHESTRATOR_UNKNOWN_WORKFLOW', 404],
  [
    'with an unknown version of a workflow',
    json({ ...good, workflow: 'sample@99' }),
    'ORCHESTRATOR_UNKNOWN_WORKFLOW',
    404,
  ],
  ['with an id that is no token', json({ ...good, id: 'a.b' }), 'CONTRACT_INVALID', 400],
  ['that is not JSON', '{"workflow":', 'CONTRACT_NOT_JSON', 400],
  ['that is empty', '', 'CONTRACT_NOT_JSON', 400],
  ['that is not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 'CONTRACT_NOT_JSON', 400],
  ['with half of a character', `{"workflow":"sample","goal":"\\ud83d"}`, 'CONTRACT_NOT_JSON', 400],
  ['with NUL', json({ ...good, goal: 'a\0b' }), 'CONTRACT_NOT_JSON', 400],
  ['that is no object', json([good]), 'CONTRACT_INVALID', 400],
  ['that is null', 'null', 'CONTRACT_INVALID', 400],
  ['over 1 MiB', tooLarge, 'CONTRACT_PAYLOAD_TOO_LARGE', 413],
];

describe('a submission', () => {
  test.each(bad)('a submission %s is refused with a code', async (_what, body, code, status) => {
    const refused = system.client.askRaw(subjects.api('orchestrator', 'submit'), body);
    await expect(refused).rejects.toMatchObject({ name: 'Refusal', code, status });
  });

  test.each(bad)(
    'a submission %s on the bus becomes a dead letter with the reason',
    async (_what, body, code) => {
      const subject = subjects.taskCommand('submit');
      await publish(system.client.connection, subject, body, { id });
      const bytes = Buffer.from(body);
      const letter = await letters.next(id);
      // The service retries before the refusal, because another replica may have registered the workflow a
      // moment ago.
      const deliveriesMax = code === 'ORCHESTRATOR_UNKNOWN_WORKFLOW' ? 10 : 1;
      expect(letter.deliveries).toBeLessThanOrEqual(deliveriesMax);
      expect(letter).toMatchObject({
        service: 'orchestrator',
        // The import of the core maps commands of people to subjects of their own.
        subject: subjects.peopleCommand('submit'),
        reason: { code, message: expect.stringMatching(/\S/) as string },
        headers: { 'ce-id': id },
        body: new TextDecoder().decode(bytes.subarray(0, BODY_SHOWN_BYTES)),
        bodyBytes: bytes.length,
        bodySha256: createHash('sha256').update(bytes).digest('hex'),
      });
    },
  );

  test('a refusal names every problem with its path', async () => {
    const refused = system.client.askRaw(
      subjects.api('orchestrator', 'submit'),
      json({ id: 'a b', goal: '' }),
    );
    await expect(refused).rejects.toMatchObject({
      body: {
        details: {
          problems: expect.toSatisfy((problems: readonly string[]) =>
            ['id', 'workflow', 'goal'].every((path) =>
              problems.some((problem) => problem.startsWith(`${path}:`)),
            ),
          ) as unknown,
        },
      },
    });
  });

  const padded = (task: string, bytes: number): string => {
    const inputs = { url: 'https://api.example/', body: '' };
    const start = json({ workflow: 'http', goal: 'send it', id: task, inputs });
    return start.replace('"body":""', `"body":"${'p'.repeat(bytes - start.length)}"`);
  };

  /** The body is an input of the task and an argument of its effect. */
  const doubled = (id: string): string => {
    const inputs = { url: 'https://api.example/', body: 'x'.repeat(PAYLOAD_MAX_BYTES - 4_096) };
    return json({ workflow: 'http', goal: 'send it', id, inputs });
  };

  test('a large submission is accepted if the events of its task fit into messages', async () => {
    const task = newTaskId();
    await system.client.askRaw(
      subjects.api('orchestrator', 'submit'),
      json({ ...good, id: task, inputs: { line: 'x'.repeat(60_000) } }),
    );
    await waitForPhase(system.client, task, 'awaiting_approval');
    const { events } = await system.client.ask('orchestrator', 'history', { id: task });
    expect(events.length).toBeGreaterThan(2);
  });

  test('a submission whose messages would exceed the limit of the bus is refused with a code', async () => {
    const body = padded(newTaskId(), PAYLOAD_MAX_BYTES);
    expect(body.length).toBe(PAYLOAD_MAX_BYTES);
    for (const each of [body, doubled(newTaskId())]) {
      const answer = system.client.askRaw(subjects.api('orchestrator', 'submit'), each);
      await expect(answer).rejects.toMatchObject({ code: 'CONTRACT_PAYLOAD_TOO_LARGE' });
    }
  });

  test('a submission whose messages would exceed the limit is a dead letter and delays no other', async () => {
    const id = newTaskId();
    const body = doubled(id);
    await publish(system.client.connection, subjects.taskCommand('submit'), body, { id: `too-large-${id}` });
    expect(await letters.next(`too-large-${id}`)).toMatchObject({
      reason: { code: 'CONTRACT_PAYLOAD_TOO_LARGE' },
    });
  });

  test('a repeated submission is the same task; with other content it is refused', async () => {
    const task = newTaskId();
    const submit = (goal: string) => system.client.ask('orchestrator', 'submit', { ...good, id: task, goal });
    await submit('one');
    await waitForPhase(system.client, task, 'awaiting_approval');
    const { events } = await system.client.ask('orchestrator', 'history', { id: task });
    await submit('one');
    await expect(submit('two')).rejects.toMatchObject({ code: 'ORCHESTRATOR_TASK_CONFLICT', status: 409 });
    await publish(
      system.client.connection,
      subjects.taskCommand('submit'),
      json({ ...good, id: task, goal: 'three' }),
      { id },
    );
    expect((await letters.next(id)).reason.code).toBe('ORCHESTRATOR_TASK_CONFLICT');
    expect((await system.client.ask('orchestrator', 'history', { id: task })).events).toEqual(events);
  });

  test('a submission with fields of a newer version is accepted', async () => {
    const task = newTaskId();
    const body = json({ ...good, id: task, since2: { deep: [1] } });
    await publish(system.client.connection, subjects.taskCommand('submit'), body, { id });
    await waitForPhase(system.client, task, 'awaiting_approval');
    expect(await letters.of(id)).toEqual([]);
  });

  test('each submission without id and headers is a new task', async () => {
    const { connection, ask } = system.client;
    const list = async () =>
      (await ask('orchestrator', 'list', { limit: 500 })).items.filter(({ goal }) => goal === id);
    connection.publish(subjects.taskCommand('submit'), json({ workflow: 'sample', goal: id }));
    connection.publish(subjects.taskCommand('submit'), json({ workflow: 'sample', goal: id }));
    await expect
      .poll(async () => (await list()).map(({ phase }) => phase), { timeout: 30_000 })
      .toEqual(['awaiting_approval', 'awaiting_approval']);
  });

  test.each([
    ['a surrogate pair at the length limit of lists', `${'x'.repeat(199)}😀${'y'.repeat(50)}`],
    ['line ends and quotes', 'a\r\nb "c" \\ \\u0000 \t.'],
    ['the largest number of characters', '😀'.repeat(50_000)],
  ])('a goal with %s is stored unchanged', async (_what, goal) => {
    const task = newTaskId();
    await system.client.ask('orchestrator', 'submit', { ...good, id: task, goal, inputs: { line: 'x' } });
    expect((await waitForPhase(system.client, task, 'awaiting_approval')).goal).toBe(goal);
    const { items } = await system.client.ask('orchestrator', 'list', { limit: 500 });
    expect(items.map((item) => item.id)).toContain(task);
  });
});

test('accepted tasks complete despite refused ones in between', async () => {
  const { client } = system;
  const tasks = await Promise.all([submitSample(client), submitSample(client)]);
  for (const [, body] of bad) client.connection.publish(subjects.taskCommand('submit'), body);
  const more = await Promise.all([submitSample(client), submitSample(client)]);
  await Promise.all([...tasks, ...more].map((task) => approveAndComplete(client, task)));
});
