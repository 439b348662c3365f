import { Readable } from 'node:stream';
import type { BucketDeclaration } from '@holdpoint/contracts/bus/streams';
import { DeliverPolicy, jetstream, JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { Objm, type ObjectInfo, type ObjectStore as Bucket } from '@nats-io/obj';

/** The metadata of a stored object. */
export type StoredObject = {
  readonly bytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
  /** Epoch milliseconds. */
  readonly storedAt: number;
};

/** Large content beside the messages, by name. Throws when the bus or the bucket is away. */
export interface ObjectStore {
  find(name: string): Promise<StoredObject | undefined>;
  /**
   * Replaces the object; resolves to the metadata that the store confirmed. Holds one chunk in memory at a
   * time.
   */
  put(name: string, about: Readonly<Record<string, string>>, content: Readable): Promise<StoredObject>;
  /** The chunks in order. Chunks may be missing: the reader compares size and digest. */
  read(name: string): AsyncIterable<Uint8Array>;
}

const PIECE_BYTES = 128 * 1_024;
const PIECES_AT_ONCE = 16;
/** Stored chunks are delivered at once: after this time there are no more. */
const FETCH_MS = 2_000;
const PUT_TIMEOUT_MS = 5_000;
const NOT_FOUND = 404;
const DIGEST = /^SHA-256=([A-Za-z0-9_-]{43})=?$/;

const storedOf = ({ size, digest, mtime }: Pick<ObjectInfo, 'size' | 'digest' | 'mtime'>): StoredObject => ({
  bytes: size,
  sha256: Buffer.from(DIGEST.exec(digest)?.[1] ?? '', 'base64url').toString('hex'),
  storedAt: Date.parse(mtime),
});

/** A NATS object store. The bucket is declared with the streams: nothing is created here. */
export const createObjectStore = (
  connection: NatsConnection,
  { name: bucket, stream }: BucketDeclaration,
): ObjectStore => {
  const client = jetstream(connection, { checkAPI: false, timeout: PUT_TIMEOUT_MS });
  let opened: Promise<Bucket> | undefined;
  // Without a check of existence: the bucket may be created later.
  const open = (): Promise<Bucket> => (opened ??= new Objm(client).open(bucket, false));

  const infoOf = async (name: string): Promise<ObjectInfo | undefined> => {
    try {
      const info = await (await open()).info(name);
      return info === null || info.deleted ? undefined : info;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.status === NOT_FOUND && !isNoStream(error))
        return undefined;
      throw error;
    }
  };

  async function* read(name: string): AsyncGenerator<Uint8Array> {
    const info = await infoOf(name);
    if (info === undefined || info.chunks === 0) return;
    const consumer = await client.consumers.get(stream, {
      filter_subjects: `$O.${bucket}.C.${info.nuid}`,
      deliver_policy: DeliverPolicy.All,
    });
    try {
      for (let count = 0; count < info.chunks;) {
        const before = count;
        const most = Math.min(PIECES_AT_ONCE, info.chunks - count);
        for await (const piece of await consumer.fetch({ max_messages: most, expires: FETCH_MS })) {
          count += 1;
          yield piece.data;
        }
        if (count === before) return;
      }
    } finally {
      await consumer.delete().catch(() => undefined);
    }
  }

  return {
    find: async (name) => {
      const info = await infoOf(name);
      return info && storedOf(info);
    },
    put: async (name, about, content) => {
      const meta = { name, metadata: { ...about }, options: { max_chunk_size: PIECE_BYTES } };
      const store = await open();
      const pieces = Readable.toWeb(content) as ReadableStream<Uint8Array>;
      return storedOf(await store.put(meta, pieces, { timeout: PUT_TIMEOUT_MS }));
    },
    read,
  };
};

/** The bucket is away; it is not the object that is missing. */
const NO_STREAM = 10_059;
const isNoStream = ({ code }: JetStreamApiError): boolean => code === NO_STREAM;
