import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { StoreLimits } from '@holdpoint/contracts/program/value';
import type { Pool } from 'pg';
import { z } from 'zod';

/** The metadata of a stored object. */
export type StoredObject = {
  readonly bytes: number;
  /** In lower-case hex. It is the name of the object. */
  readonly sha256: string;
  /** Epoch milliseconds. */
  readonly storedAt: number;
};

/** Large content beside the messages, named by its digest. Throws when the store is away. */
export interface ObjectStore {
  find(sha256: string): Promise<StoredObject | undefined>;
  /** Stores the content in chunks, or renews its retention; holds one chunk in memory at a time. */
  put(sha256: string, content: Readable): Promise<StoredObject>;
  /** The chunks in order; none of an unknown object. The reader compares size and digest. */
  read(sha256: string): AsyncIterable<Uint8Array>;
  /** One chunk, and the number of chunks; undefined when there is none. */
  chunk(sha256: string, part: number): Promise<Chunk | undefined>;
  /** Stores one chunk of an upload. The last one completes the object, if the digest of all is its name. */
  putChunk(upload: Upload, content: Uint8Array): Promise<StoredObject | undefined>;
  /** Removes objects and parts of uploads whose retention is over, and the oldest beyond the size limit. */
  purge(): Promise<void>;
}

export type Chunk = { readonly content: Uint8Array; readonly parts: number };
/** `id` is chosen by the sender: chunks of two uploads never mix. */
export type Upload = {
  readonly id: string;
  readonly sha256: string;
  readonly part: number;
  readonly parts: number;
};

const CHUNK_BYTES = 512 * 1_024;
const ABANDONED_HOURS = 24;

const Row = z.object({
  sha256: z.string(),
  upload: z.string(),
  bytes: z.coerce.number().int(),
  parts: z.int(),
  stored_at: z.date().transform((at) => at.getTime()),
});
type ObjectRow = z.infer<typeof Row>;
const ChunkRow = z.object({ content: z.instanceof(Uint8Array), parts: z.int() });

const COLUMNS = 'sha256, upload, bytes, parts, stored_at';
const storedOf = ({ sha256, bytes, stored_at: storedAt }: ObjectRow): StoredObject => ({
  sha256,
  bytes,
  storedAt,
});

/** Content cut into chunks of equal size, whatever the pieces of the stream. */
async function* chunksOf(content: Readable): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const piece of content) {
    let rest = Buffer.from(piece as Uint8Array);
    while (size + rest.length >= CHUNK_BYTES) {
      const taken = CHUNK_BYTES - size;
      yield Buffer.concat([...held, rest.subarray(0, taken)]);
      [held, size, rest] = [[], 0, rest.subarray(taken)];
    }
    if (rest.length > 0) held.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(held);
}

const wrongDigest = (): HoldpointError =>
  new HoldpointError('CONTRACT_INVALID', 'the content does not have the digest that names it');

/** Objects as rows in PostgreSQL, addressed by their SHA-256. */
export const createObjectStore = (pool: Pool, { keepDays, maxBytes }: StoreLimits): ObjectStore => {
  const rowOf = async (sha256: string): Promise<ObjectRow | undefined> => {
    const { rows } = await pool.query(`SELECT ${COLUMNS} FROM objects WHERE sha256 = $1`, [sha256]);
    return rows.length === 0 ? undefined : Row.parse(rows[0]);
  };

  const insertChunk = async (upload: string, part: number, content: Uint8Array): Promise<void> => {
    await pool.query({
      name: 'hp_object_chunk',
      // A repeated request finds the same bytes under its upload.
      text: 'INSERT INTO object_chunks (upload, part, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      values: [upload, part, content],
    });
  };
  const dropUpload = async (upload: string): Promise<void> => {
    await pool.query('DELETE FROM object_chunks WHERE upload = $1', [upload]);
  };

  /** The chunks are stored and their digest is right. The same content of another upload stays, and is kept longer. */
  const complete = async (
    sha256: string,
    upload: string,
    bytes: number,
    parts: number,
  ): Promise<StoredObject> => {
    const { rows } = await pool.query(
      `INSERT INTO objects (sha256, upload, bytes, parts) VALUES ($1, $2, $3, $4)
       ON CONFLICT (sha256) DO UPDATE SET stored_at = now() RETURNING ${COLUMNS}`,
      [sha256, upload, bytes, parts],
    );
    const row = Row.parse(rows[0]);
    if (row.upload !== upload) await dropUpload(upload);
    return storedOf(row);
  };

  const chunkOf = async (upload: string, part: number): Promise<Uint8Array | undefined> => {
    const { rows } = await pool.query({
      name: 'hp_object_read',
      text: 'SELECT content, 0 AS parts FROM object_chunks WHERE upload = $1 AND part = $2',
      values: [upload, part],
    });
    return rows.length === 0 ? undefined : ChunkRow.parse(rows[0]).content;
  };

  async function* contentOf(upload: string, parts: number): AsyncGenerator<Uint8Array> {
    for (let part = 0; part < parts; part += 1) {
      const content = await chunkOf(upload, part);
      if (content === undefined) return;
      yield content;
    }
  }

  return {
    find: async (sha256) => {
      const row = await rowOf(sha256);
      return row && storedOf(row);
    },
    put: async (sha256, content) => {
      const upload = randomUUID();
      const hash = createHash('sha256');
      let [bytes, parts] = [0, 0];
      try {
        for await (const chunk of chunksOf(content)) {
          await insertChunk(upload, parts, chunk);
          hash.update(chunk);
          bytes += chunk.length;
          parts += 1;
        }
        if (hash.digest('hex') !== sha256) throw wrongDigest();
      } catch (error) {
        await dropUpload(upload);
        throw error;
      }
      return complete(sha256, upload, bytes, parts);
    },
    read: async function* (sha256) {
      const row = await rowOf(sha256);
      if (row !== undefined) yield* contentOf(row.upload, row.parts);
    },
    chunk: async (sha256, part) => {
      const row = await rowOf(sha256);
      const content = row === undefined ? undefined : await chunkOf(row.upload, part);
      return row === undefined || content === undefined ? undefined : { content, parts: row.parts };
    },
    putChunk: async ({ id, sha256, part, parts }, content) => {
      await insertChunk(id, part, content);
      if (part < parts - 1) return undefined;
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of contentOf(id, parts)) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      if (hash.digest('hex') !== sha256) {
        await dropUpload(id);
        throw wrongDigest();
      }
      return complete(sha256, id, bytes, parts);
    },
    purge: async () => {
      await pool.query(
        `DELETE FROM objects WHERE stored_at < now() - make_interval(days => $1)
            OR sha256 IN (SELECT sha256 FROM (
                 SELECT sha256, sum(bytes) OVER (ORDER BY stored_at DESC, sha256) AS total FROM objects) sized
               WHERE total > $2)`,
        [keepDays, maxBytes],
      );
      await pool.query(
        `DELETE FROM object_chunks c WHERE created_at < now() - make_interval(hours => $1)
            AND NOT EXISTS (SELECT FROM objects o WHERE o.upload = c.upload)`,
        [ABANDONED_HOURS],
      );
    },
  };
};
