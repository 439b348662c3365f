import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { createObjectStore, type ObjectStore } from '@holdpoint/runtime/store/object-store';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cloneDatabase, type Database } from '../../kit/stack/databases.ts';
import { currentRun } from '../../kit/stack/run.ts';

let database: Database;
let pool: pg.Pool;
let store: ObjectStore;
beforeAll(async () => {
  database = await cloneDatabase(currentRun().admin);
  const { host, port, user, password } = database.admin;
  const options = '-c search_path=executor';
  pool = new pg.Pool({ host, port, user, password, database: database.name, options });
  store = createObjectStore(pool, { keepDays: 7, maxBytes: 3_000_000 });
});
beforeEach(() => pool.query('TRUNCATE objects, object_chunks'));
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const digestOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
const bytes = (size: number, fill = 7): Buffer => Buffer.alloc(size, fill);
const readAll = async (sha256: string): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(sha256)) chunks.push(chunk);
  return Buffer.concat(chunks);
};
const chunks = async (): Promise<number> =>
  Number((await pool.query<{ count: string }>('SELECT count(*) FROM object_chunks')).rows[0]?.count);
const keep = async (content: Buffer): Promise<string> =>
  (await store.put(digestOf(content), Readable.from([content]))).sha256;

test.each([0, 1, 524_288, 524_289, 1_300_000])(
  'an object of %i bytes is read as it was stored',
  async (size) => {
    const content = Buffer.from(Array.from({ length: size }, (_, i) => i % 251));
    const sha256 = digestOf(content);
    // Pieces of another size than the chunks.
    const pieces = Array.from({ length: Math.ceil(size / 100_000) }, (_, i) =>
      content.subarray(i * 100_000, (i + 1) * 100_000),
    );
    expect(await store.put(sha256, Readable.from(pieces))).toMatchObject({ sha256, bytes: size });
    expect((await readAll(sha256)).equals(content)).toBe(true);
    expect(await store.find(sha256)).toMatchObject({ sha256, bytes: size });
  },
);

test('content under the digest of other content is refused and leaves nothing', async () => {
  const content = bytes(600_000);
  const other = digestOf(bytes(3));
  await expect(store.put(other, Readable.from([content]))).rejects.toMatchObject({
    code: 'CONTRACT_INVALID',
  });
  const upload = { id: randomUUID(), sha256: other, parts: 1, part: 0 };
  await expect(store.putChunk(upload, content)).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
  expect([await store.find(other), await chunks()]).toEqual([undefined, 0]);
});

test('the same content is stored once, also when two senders store it at the same time', async () => {
  const content = bytes(600_000);
  await Promise.all([keep(content), keep(content), keep(content)]);
  expect(await chunks()).toBe(2);
  expect((await readAll(digestOf(content))).equals(content)).toBe(true);
});

test('an object appears with its last chunk, and a repeated chunk changes nothing', async () => {
  const content = bytes(1_000);
  const upload = { id: randomUUID(), sha256: digestOf(content), parts: 2 };
  const first = content.subarray(0, 600);
  expect(await store.putChunk({ ...upload, part: 0 }, first)).toBeUndefined();
  expect(await store.putChunk({ ...upload, part: 0 }, first)).toBeUndefined();
  expect(await store.find(upload.sha256)).toBeUndefined();
  await store.putChunk({ ...upload, part: 1 }, content.subarray(600));
  expect(await store.putChunk({ ...upload, part: 1 }, content.subarray(600))).toMatchObject({ bytes: 1_000 });
  expect((await readAll(upload.sha256)).equals(content)).toBe(true);
  expect(await store.chunk(upload.sha256, 1)).toMatchObject({ parts: 2 });
  expect(await store.chunk(upload.sha256, 2)).toBeUndefined();
});

describe('the purge', () => {
  const age = (sha256: string, days: number) =>
    pool.query(`UPDATE objects SET stored_at = now() - make_interval(days => $2) WHERE sha256 = $1`, [
      sha256,
      days,
    ]);
  const ageChunks = () => pool.query(`UPDATE object_chunks SET created_at = now() - interval '2 days'`);

  test('an object is removed with its chunks when its retention is over', async () => {
    const [old, young] = [await keep(bytes(10, 1)), await keep(bytes(10, 2))];
    await age(old, 8);
    await age(young, 6);
    await ageChunks();
    await store.purge();
    expect([await store.find(old), (await store.find(young))?.bytes, await chunks()]).toEqual([
      undefined,
      10,
      1,
    ]);
  });

  test('the oldest objects are removed beyond the size limit', async () => {
    const all = [
      await keep(bytes(1_400_000, 1)),
      await keep(bytes(1_400_000, 2)),
      await keep(bytes(1_400_000, 3)),
    ];
    for (const [index, sha256] of all.entries()) await age(sha256, 3 - index);
    await store.purge();
    expect(
      (await Promise.all(all.map((sha256) => store.find(sha256)))).map((each) => each !== undefined),
    ).toEqual([false, true, true]);
  });

  test('chunks of an abandoned upload are removed, and those of a young one stay', async () => {
    const upload = { sha256: digestOf(bytes(2)), parts: 2, part: 0 };
    await store.putChunk({ ...upload, id: randomUUID() }, bytes(1));
    await ageChunks();
    await store.putChunk({ ...upload, id: randomUUID() }, bytes(1));
    await store.purge();
    expect(await chunks()).toBe(1);
  });
});
