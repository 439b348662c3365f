import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bareOrderFor, EFFECT } from '../../../testing/orders.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { createSpool } from './spool.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const MIB = 1_048_576;
const NOW = Date.UTC(2026, 0, 1);
const open = (maxBytes = MIB) =>
  createSpool({ folder: scratch.path, logMaxBytes: MIB, maxBytes, now: () => NOW, log: silentLogger() });
const files = () => readdir(scratch.path);

describe('the output of a start', () => {
  test('a log waits under its digest with its record until it is stored', async () => {
    const spool = open();
    const log = spool.beginLog(bareOrderFor(), 1);
    log?.say('stdout', () => 'one');
    const spooled = await log?.end();
    if (spooled === undefined) throw new Error('there is no log');
    expect(spooled).toMatchObject({ effect: EFFECT, epoch: 1, attempt: 1, name: 'append.1.run.log' });
    expect((await files()).toSorted()).toEqual([spooled.sha256, `${EFFECT}.1.log.json`].toSorted());
    expect(await readFile(String(spool.find(spooled.sha256)), 'utf8')).toContain('out | one');
    spool.remove(spooled);
    expect(await files()).toEqual([]);
    expect(spool.find(spooled.sha256)).toBeUndefined();
  });

  test('a restarted executor recovers a log, complete or partial', async () => {
    const before = open();
    const whole = before.beginLog(bareOrderFor(), 1);
    whole?.say('stdout', () => 'one');
    const spooled = await whole?.end();
    before.beginLog(bareOrderFor(), 2)?.say('stderr', () => 'last words');
    await new Promise((resolve) => setImmediate(resolve));
    await writeFile(join(scratch.path, 'f'.repeat(64)), 'nobody names it');

    const after = open();
    await after.recover();
    const [first, second, ...more] = after.waiting().toSorted((a, b) => a.epoch - b.epoch);
    expect([first, more]).toEqual([spooled, []]);
    expect(second).toMatchObject({ epoch: 2 });
    expect(await readFile(String(after.find(second?.sha256 ?? '')), 'utf8')).toContain('err | last words');
    expect(await files()).toHaveLength(4);
  });

  test('a content stays while another start has printed the same', async () => {
    const spool = open();
    const printed = async (epoch: number) => {
      const log = spool.beginLog(bareOrderFor(), epoch);
      log?.say('stdout', () => 'same');
      const spooled = await log?.end();
      if (spooled === undefined) throw new Error('there is no log');
      return spooled;
    };
    const [one, two] = [await printed(1), await printed(2)];
    expect(one.sha256).toBe(two.sha256);
    spool.remove(one);
    expect(await readFile(String(spool.find(two.sha256)), 'utf8')).toContain('same');
    spool.remove(two);
    expect(await files()).toEqual([]);
  });
});

test('incomplete outputs are removed', async () => {
  const spool = open();
  const kept = await spool.keep(bareOrderFor(), 1, '{"a":1}');
  expect(kept).toMatchObject({ bytes: 7, mediaType: 'application/json', name: 'append.1.run.outputs.json' });
  const begun = JSON.stringify({ ...kept, epoch: 2 });
  await writeFile(join(scratch.path, `${EFFECT}.2.outputs.begun.json`), begun);
  await writeFile(join(scratch.path, `${EFFECT}.2.outputs.part`), '{"a"');
  const after = open();
  await after.recover();
  expect(after.waiting()).toEqual([kept]);
});

test('beyond the limit nothing is kept until something is stored', async () => {
  const spool = open(5);
  const kept = await spool.keep(bareOrderFor(), 1, '{"a":1}');
  if (kept === undefined) throw new Error('nothing was kept');
  expect(spool.beginLog(bareOrderFor(), 2)).toBeUndefined();
  expect(await spool.keep(bareOrderFor(), 2, '{}')).toBeUndefined();
  spool.remove(kept);
  expect(await spool.keep(bareOrderFor(), 2, '{}')).toMatchObject({ bytes: 2 });
});
