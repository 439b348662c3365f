import { hash, type KeyObject, verify } from 'node:crypto';

// A seal proves which service published a message. The messages that leave together are the leaves of one Merkle tree
// (RFC 6962 style: an odd node moves up unchanged), and the key signs its root. So a batch costs one signature.

/** The public half of a key that signs seals. */
export type PublicKey = KeyObject;

/** The parts of a message that a seal covers. `id` is `ce-id`. */
export type Sealable = { readonly subject: string; readonly id: string; readonly body: string | Uint8Array };

/** A seal, taken apart. */
export type Seal = {
  readonly kid: string;
  readonly index: number;
  /** Number of messages of the tree. */
  readonly size: number;
  /** Sibling hashes from the leaf to the root. */
  readonly path: readonly Uint8Array[];
  readonly signature: Uint8Array;
};

const HASH_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** Messages of one tree. A larger flush gets several trees. */
export const SEALED_TOGETHER_MAX = 4_096;
const PATH_MAX = Math.log2(SEALED_TOGETHER_MAX);

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);
const sha256 = (data: Uint8Array | string): Buffer => hash('sha256', data, 'buffer');

/** Neither subjects nor header values contain NUL, so different messages never serialize equally. */
export const leafOf = ({ subject, id, body }: Sealable): Buffer =>
  typeof body === 'string'
    ? sha256(`\0${subject}\0${id}\0${body}`)
    : sha256(Buffer.concat([LEAF, Buffer.from(`${subject}\0${id}\0`), body]));

const above = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.concat([NODE, left, right]));

/** Every level of the tree, from the leaves to the root. */
export const treeOf = (leaves: readonly Buffer[]): readonly (readonly Buffer[])[] => {
  const levels = [leaves];
  for (let level = leaves; level.length > 1;) {
    const next: Buffer[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const [left, right] = [level[i] as Buffer, level[i + 1]];
      next.push(right === undefined ? left : above(left, right));
    }
    levels.push(next);
    level = next;
  }
  return levels;
};

/** The siblings of a leaf. The last node of an odd level has none. */
export const pathIn = (levels: readonly (readonly Buffer[])[], leaf: number): readonly Buffer[] =>
  levels.slice(0, -1).flatMap((level, depth) => level[(leaf >> depth) ^ 1] ?? []);

/** A pair of nodes and the node above them, as it was computed. */
type Pair = { readonly left: Uint8Array; readonly right: Uint8Array; readonly node: Buffer };

/** Computed nodes of one tree by their place. It saves work and proves nothing: other inputs are computed anew. */
export type TreeMemo = Map<number, Pair>;

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

const aboveOnce = (memo: TreeMemo, place: number, left: Uint8Array, right: Uint8Array): Buffer => {
  const known = memo.get(place);
  if (known !== undefined && same(known.left, left) && same(known.right, right)) return known.node;
  const node = above(left, right);
  memo.set(place, { left, right, node });
  return node;
};

/**
 * The root that follows from a leaf and its path. Undefined when the path does not fit index and size. Messages of one tree
 * share most of their paths: with the same `memo` each node is computed once.
 */
export const rootFrom = (
  leaf: Uint8Array,
  { index, size, path }: Pick<Seal, 'index' | 'size' | 'path'>,
  memo: TreeMemo = new Map(),
): Uint8Array | undefined => {
  let [at, count, used, depth, node] = [index, size, 0, 0, leaf];
  while (count > 1) {
    const parent = at >> 1;
    if ((at ^ 1) < count) {
      const sibling = path[used];
      if (sibling === undefined) return undefined;
      used += 1;
      const place = depth * SEALED_TOGETHER_MAX + parent;
      node = at % 2 === 0 ? aboveOnce(memo, place, node, sibling) : aboveOnce(memo, place, sibling, node);
    }
    at = parent;
    count = (count + 1) >> 1;
    depth += 1;
  }
  return used === path.length ? node : undefined;
};

/** The signed text. Its first word keeps it apart from every JWS of the same key. */
export const sealedText = (size: number, root: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`holdpoint-seal/1 ${String(size)}\n`), root]);

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');

/** The text of the header. */
export const writeSeal = ({ kid, index, size, path, signature }: Seal): string =>
  `1.${kid}.${String(index)}.${String(size)}.${base64(Buffer.concat(path))}.${base64(signature)}`;

const SHAPE =
  /^1\.([A-Za-z0-9_-]{1,64})\.(0|[1-9]\d{0,4})\.([1-9]\d{0,4})\.([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]{86})$/;
const HEADER_MAX = 800;

/** Decoding is lenient. The strict check gives each seal one text. */
const bytesIn = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
};

/** Undefined for a text that is no seal. */
export const readSeal = (text: string): Seal | undefined => {
  const match = text.length > HEADER_MAX ? null : SHAPE.exec(text);
  if (match === null) return undefined;
  const [, kid = '', at = '', count = '', siblings = '', signed = ''] = match;
  const [index, size] = [Number(at), Number(count)];
  const [hashes, signature] = [bytesIn(siblings), bytesIn(signed)];
  if (hashes === undefined || signature?.length !== SIGNATURE_BYTES) return undefined;
  const isPossible = size <= SEALED_TOGETHER_MAX && index < size && hashes.length <= PATH_MAX * HASH_BYTES;
  if (!isPossible || hashes.length % HASH_BYTES !== 0) return undefined;
  const path = Array.from({ length: hashes.length / HASH_BYTES }, (_, i) =>
    hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
  return { kid, index, size, path, signature };
};

/** Seals messages that leave together: one header value for each. `sign` is called once for each tree. */
export const sealAll = (
  messages: readonly Sealable[],
  kid: string,
  sign: (text: Uint8Array) => Uint8Array,
): readonly string[] => {
  const seals: string[] = [];
  for (let from = 0; from < messages.length; from += SEALED_TOGETHER_MAX) {
    const together = messages.slice(from, from + SEALED_TOGETHER_MAX);
    const levels = treeOf(together.map(leafOf));
    const root = levels.at(-1)?.[0];
    if (root === undefined) break;
    const size = together.length;
    const signature = sign(sealedText(size, root));
    for (let index = 0; index < size; index += 1)
      seals.push(writeSeal({ kid, index, size, path: pathIn(levels, index), signature }));
  }
  return seals;
};

/** Whether this key signed this root. */
export const isSigned = (key: PublicKey, size: number, root: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, sealedText(size, root), key, signature);
