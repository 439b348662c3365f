import { describe, expect, test } from 'vitest';
import { showViolation } from './import-rules.ts';
import { factsOf } from './source-facts.ts';
import { readTree } from './source-tree.ts';
import { ACKNOWLEDGES, ANNOUNCES, busUses, checkUses, PUBLISHES, TAKES_BACK } from './use-rules.ts';

const faults = (path: string, source: string): readonly string[] =>
  checkUses([factsOf(path, source)]).map(({ line, imports }) => `${String(line)} ${imports}`);

test('clock, chance, environment, acknowledging and publishing have their places', () => {
  expect(checkUses(readTree()).map(showViolation)).toEqual([]);
});

test('one place decides what is acknowledged, and exactly one publishes what has to arrive', () => {
  expect(busUses(readTree())).toEqual({
    acknowledge: ACKNOWLEDGES,
    publish: [ANNOUNCES, PUBLISHES, TAKES_BACK],
  });
});

describe('the check shows the offending line', () => {
  const IMPURE = [
    ['Date.now()', 'Date.now'],
    ['new Date()', 'new Date(0)'],
    ['Date()', 'Date()'],
    ['Math.random()', 'Math.random'],
    ['setTimeout(f, 1)', 'setTimeout()'],
    ['setInterval(f, 1)', 'setInterval()'],
    ['setImmediate(f)', 'setImmediate()'],
    ['queueMicrotask(f)', 'queueMicrotask()'],
    ['fetch(url)', 'fetch()'],
    ['crypto.randomUUID()', 'crypto.randomUUID'],
    ['performance.now()', 'performance.now'],
    [`process['hrtime']`, 'process.hrtime'],
    ['globalThis.Date', 'globalThis.Date'],
  ] as const;
  const PURE_PLACES = [
    'services/executor/src/effect/decide.ts',
    'packages/runtime/src/engine/engine.ts',
  ] as const;
  const cases = PURE_PLACES.flatMap((path) => IMPURE.map(([source, use]) => [source, path, use] as const));

  test.each(cases)('%s in %s', (source, path, use) => {
    expect(faults(path, `import { f } from './f.ts';\nexport const x = ${source};`)).toEqual([`2 ${use}`]);
  });

  test('a domain waits for nothing', () => {
    const source = `export const f = async () => {\n  await g();\n  for await (const x of y) h(x);\n};`;
    expect(faults('services/executor/src/effect/decide.ts', source)).toEqual(['2 await', '3 await']);
  });

  test.each([`process.env['X']`, `process['env']`, `process?.env`])('%s outside of main.ts', (source) => {
    expect(faults('services/executor/src/config.ts', `const x = ${source};`)).toEqual(['1 process.env']);
    expect(faults('services/executor/src/main.ts', `const x = ${source};`)).toEqual([]);
  });

  test('the environment taken apart outside of main.ts', () => {
    expect(faults('packages/cli/src/bus/connection.ts', `const { env } = process;`)).toEqual([
      '1 process.env',
    ]);
  });

  test.each([
    'msg.ack()',
    'msg.nak(1)',
    'msgs[0]?.term()',
    'take(msg).ackAck()',
    'msg.working()',
    'then(msg.ack)',
  ])('%s outside of the one place', (source) => {
    expect(faults('services/executor/src/service.ts', source)).toHaveLength(1);
    expect(faults('packages/runtime/src/service/service.ts', source)).toHaveLength(1);
    expect(faults(ACKNOWLEDGES[0] ?? '', source)).toEqual([]);
  });

  test('publishing on a connection outside of the one place', () => {
    const source = `import type { NatsConnection } from '@nats-io/transport-node';\nexport const f = (c: NatsConnection) => c.publish('x');`;
    expect(faults('packages/runtime/src/bus/api.ts', source)).toEqual(['2 c.publish']);
    expect(faults(PUBLISHES, source)).toEqual([]);
  });
});

test('a time that is given, and a promise in the core, are not shown', () => {
  expect(
    faults(
      'services/executor/src/effect/decide.ts',
      `export const f = (at: number) => new Date(at).toISOString();`,
    ),
  ).toEqual([]);
  expect(
    faults(
      'packages/runtime/src/engine/engine.ts',
      `import { f } from './f.ts';\nexport const x = async () => await f();`,
    ),
  ).toEqual([]);
});
