import fc from 'fast-check';
import { bytesOf, type Bytes } from '../text.ts';
import { longText, nastyString } from './strings.ts';

/** JSON as text, so that it can be malformed: duplicate keys, and any text as a value. */
type Node =
  | { readonly kind: 'text'; readonly pieces: Bytes }
  | { readonly kind: 'array'; items: readonly Node[] }
  | { readonly kind: 'object'; entries: readonly (readonly [key: string, value: Node])[] };

const raw = (...pieces: Bytes): Node => ({ kind: 'text', pieces });

const nodeOf = (value: unknown): Node => {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(nodeOf) };
  if (typeof value !== 'object' || value === null) return raw(JSON.stringify(value));
  return {
    kind: 'object',
    entries: Object.entries(value).map(([key, of]) => [JSON.stringify(key), nodeOf(of)]),
  };
};

const between = (parts: readonly Bytes[], open: string, close: string): Bytes => [
  open,
  ...parts.flatMap((part, i) => (i === 0 ? part : [',', ...part])),
  close,
];

const write = (node: Node): Bytes => {
  switch (node.kind) {
    case 'text':
      return node.pieces;
    case 'array':
      return between(node.items.map(write), '[', ']');
    case 'object':
      return between(
        node.entries.map(([key, value]) => [`${key}:`, ...write(value)]),
        '{',
        '}',
      );
  }
};

/** Joins neighbouring texts for a readable corpus file. */
const joined = (pieces: Bytes): Bytes =>
  pieces.reduce<Bytes>((done, piece) => {
    const last = done.at(-1);
    return typeof piece === 'string' && typeof last === 'string'
      ? [...done.slice(0, -1), last + piece]
      : [...done, piece];
  }, []);

/** Text in place of a value that is no valid JSON, or the wrong value. */
const WRONG = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e999',
  '-1e999',
  '1e-999',
  '9007199254740993',
  '123456789012345678901234567890',
  '0.1e1',
  '""',
  '[]',
  '{}',
  '[[]]',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toJSON":1,"length":-1,"then":1}',
  'undefined',
  'NaN',
  '01',
  '+1',
  "'x'",
  '"\n"',
  '"\\x"',
  '/**/1',
  '',
  '1,',
];

const wrongValue: fc.Arbitrary<Bytes> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WRONG).map((text) => [text]) },
  { weight: 3, arbitrary: nastyString.map((text) => [JSON.stringify(text)]) },
  {
    weight: 1,
    arbitrary: longText.map((text): Bytes => [
      '"',
      typeof text === 'string' ? 'x' : { ...text, repeat: JSON.stringify(text.repeat).slice(1, -1) },
      '"',
    ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('[', '{"a":'), fc.constantFrom(31, 32, 33, 63, 64, 65, 1_500, 100_000))
      .map(([open, times]): Bytes => [
        { repeat: open, times },
        '1',
        { repeat: open === '[' ? ']' : '}', times },
      ]),
  },
  { weight: 1, arbitrary: fc.constant<Bytes>(['[', { repeat: '9e20,', times: 2_000 }, '0]']) },
  // A long invalid name.
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('k', '\\u0001', 'é')
      .map((unit): Bytes => ['{"', { repeat: unit, times: 20_000 }, '":1e999}']),
  },
);

type Change = (node: Node, put: Bytes, key: string) => Node;

const withEntries = (
  node: Node,
  change: (entries: readonly (readonly [string, Node])[]) => readonly (readonly [string, Node])[],
): Node => (node.kind === 'object' ? { kind: 'object', entries: change(node.entries) } : node);

const CHANGES: readonly Change[] = [
  (_, put) => raw(...put),
  (node, put) => (node.kind === 'object' ? node : raw(...put)),
  (node, put, key) => withEntries(node, (entries) => [...entries, [JSON.stringify(key), raw(...put)]]),
  (node, put) => withEntries(node, (entries) => [...entries, ['"__proto__"', raw(...put)]]),
  // Repeats the first key. The parser decides which one counts.
  (node, put) => withEntries(node, (entries) => [...entries, [entries[0]?.[0] ?? '""', raw(...put)]]),
  (node) => withEntries(node, (entries) => entries.slice(1)),
  (node) => withEntries(node, (entries) => entries.slice(0, -1)),
  (node, put) => (node.kind === 'array' ? { kind: 'array', items: [...node.items, raw(...put)] } : node),
  (node) => (node.kind === 'array' ? { kind: 'array', items: [] } : node),
  (node) => ({ kind: 'array', items: [node] }),
];

const sizeOf = (node: Node): number => {
  if (node.kind === 'text') return 1;
  const inner = node.kind === 'array' ? node.items : node.entries.map(([, value]) => value);
  return 1 + inner.reduce((sum, each) => sum + sizeOf(each), 0);
};

/** Changes the n-th node of the tree, counted from the top. */
const changeAt = (node: Node, n: number, change: (at: Node) => Node): Node => {
  if (n === 0) return change(node);
  let left = n - 1;
  const inner = (child: Node): Node => {
    const size = sizeOf(child);
    const changed = left >= 0 && left < size ? changeAt(child, left, change) : child;
    left -= size;
    return changed;
  };
  switch (node.kind) {
    case 'text':
      return node;
    case 'array':
      return { kind: 'array', items: node.items.map(inner) };
    case 'object':
      return { kind: 'object', entries: node.entries.map(([key, value]) => [key, inner(value)] as const) };
  }
};

const change = fc.record({
  at: fc.nat(60),
  how: fc.constantFrom(...CHANGES),
  put: wrongValue,
  key: nastyString,
});

/** A valid value with some mistakes. */
const mistaken = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<Bytes> =>
  fc.tuple(valid, fc.array(change, { minLength: 1, maxLength: 3 })).map(([value, changes]) => {
    let node = nodeOf(value);
    for (const { at, how, put, key } of changes)
      node = changeAt(node, at % sizeOf(node), (found) => how(found, put, key));
    return joined(write(node));
  });

const BAD_UTF8 = ['ff', 'c3', 'c0af', 'eda080', 'f4908080', 'e282', '80', 'efbbbf', 'fffe', '00'];

/** The bytes of a valid value, cut or with invalid bytes inside. */
const damaged = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<Bytes> =>
  fc
    .tuple(valid, fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom('', ...BAD_UTF8), fc.boolean())
    .map(([value, part, hex, rest]) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const at = Math.floor(bytes.length * part);
      const before = { hex: bytes.subarray(0, at).toString('hex') };
      return [before, { hex }, ...(rest ? [{ hex: bytes.subarray(at).toString('hex') }] : [])];
    });

const MEGABYTE = 1_048_576;
const anything: fc.Arbitrary<Bytes> = fc.oneof(
  fc.uint8Array({ maxLength: 64 }).map((bytes): Bytes => [{ hex: Buffer.from(bytes).toString('hex') }]),
  wrongValue,
  fc.constantFrom<Bytes>([], [' '], ['\ufeff{}'], ['{}', '{}'], [{ repeat: '[', times: 100_000 }]),
  fc.json({ maxDepth: 3 }).map((text): Bytes => [text]),
);

const enormous: fc.Arbitrary<Bytes> = fc.constantFrom<Bytes>(
  [{ repeat: ' ', times: MEGABYTE + 1 }],
  ['{"id":"', { repeat: 'x', times: MEGABYTE - 20 }, '"}'],
  ['[', { repeat: '0,', times: MEGABYTE / 2 - 2 }, '0]'],
  ['{', { repeat: '"a":0,', times: 170_000 }, '"a":0}'],
);

/** Valid, nearly valid and arbitrary bodies. */
export const bodyFor = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<Bytes> =>
  fc.oneof(
    { weight: 40, arbitrary: valid.map((value): Bytes => [JSON.stringify(value)]) },
    { weight: 40, arbitrary: mistaken(valid) },
    { weight: 8, arbitrary: damaged(valid) },
    { weight: 8, arbitrary: anything },
    { weight: 1, arbitrary: enormous },
  );

/** Whether a body is small enough for every check within one case. */
export const isSmall = (body: Bytes): boolean => bytesOf(body).length < 20_000;
