import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { type Child, startChild } from '@holdpoint/infra/local/process/child';
import { createClient, type WorkflowHandle } from '@holdpoint/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nameFor, type Part, PARTS } from '../../kit/tasks/program-of-every-part.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

/** The run without a kill is the expectation for the others. */
const NOWHERE = 'nowhere';
const MAIN = join(root, 'tests/kit/tasks/program-worker.ts');

let system: System;
const children = new Map<string, Child>();
let ending = false;

/** A worker that is started again after each death. */
const keepWorking = async (part: string): Promise<void> => {
  const dead = join(system.folder, `died-in-${part.replaceAll(' ', '-')}`);
  while (!ending) {
    const child = await startChild({
      name: `worker ${part}`,
      command: process.execPath,
      args: [MAIN, system.nats.url, system.run.credentialsDir, part, dead],
      logFile: join(system.folder, 'workers.log'),
      cwd: root,
    });
    children.set(part, child);
    await child.exited;
  }
};

beforeAll(async () => {
  system = await createSystem({ shortTimers: true });
  await system.startAll();
  // A rule approves all writes of the program: this test is about workers.
  await system.client.ask('approvals', 'rule_add', {
    name: 'lines of the test',
    match: { kinds: ['write_external'], capability: 'cap.file.append', workflow: 'every-part.*' },
  });
});
afterAll(async () => {
  ending = true;
  await Promise.all([...children.values()].map((child) => child.stop()));
  await system.stop();
});

const isAsked = (handle: Pick<WorkflowHandle, 'id'>): Promise<boolean> =>
  system.client
    .ask('approvals', 'list', { task: handle.id })
    .then(({ items }) => items.some(({ input }) => input !== undefined));

const linesOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(join(system.workspace, file), 'utf8'))
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [line.slice(line.indexOf('\t') + 1)]));

const fileOf = (part: string): string => `${part.replaceAll(' ', '-')}.txt`;

/** All at the same time, because each mostly waits for the end of its lease. */
test('a worker that dies in any part of any phase changes only the duration', async () => {
  const parts: readonly (Part | typeof NOWHERE)[] = [NOWHERE, ...PARTS];
  const client = createClient({ connection: await system.connect('operator'), token: system.client.token });
  const endings = await Promise.all(
    parts.map(async (part) => {
      void keepWorking(part);
      // By name: the test runner compiles the worker's code, which gives it another version.
      const handle = await until(`${part} is known`, () =>
        client.start(nameFor(part), { file: fileOf(part) }),
      );
      await untilTrue(`${part}: it asks`, () => isAsked(handle), 240_000);
      await handle.respond(true);
      const result = await handle.result();
      return { part, result, lines: await linesOf(fileOf(part)) };
    }),
  );
  const [undisturbed, ...killed] = endings;
  expect(undisturbed).toEqual({
    part: NOWHERE,
    result: ['made', 'A', 'B', 'C', 'round 0', 'round 1', 'asked', 'answered true', 'published', 'checked'],
    lines: ['first', 'second'],
  });
  expect(killed).toEqual(PARTS.map((part) => ({ ...undisturbed, part })));
  for (const part of PARTS) {
    const dead = join(system.folder, `died-in-${part.replaceAll(' ', '-')}`);
    expect(await until(`the worker died in ${part}`, () => readFile(dead, 'utf8'))).toBe(part);
  }
});
