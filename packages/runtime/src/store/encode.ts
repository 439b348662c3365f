import type { BatchWrite, DeadLetterRow, StoredEvent, WireMessage } from '../engine/ports.ts';
import type { SharedContent } from '../engine/shared-content.ts';
import type { WritePart } from './write-statement.ts';

// Bodies are JSON text already: inserting them as they are avoids building every message twice.

const quoted = (text: string): string => JSON.stringify(text);

/** Maximum events of a row, so that a row is found by the version of any of its events. */
export const RUN_MAX_EVENTS = 64;
/** A row grows up to this size: to read one event, the server reads its whole row. */
const RUN_CHARACTERS = 32_768;

type Run = Pick<StoredEvent, 'aggregate' | 'at' | 'trace'> & {
  readonly first: number;
  readonly bodies: readonly string[];
};

/** The events as rows: consecutive ones of an aggregate are one. */
const runsOf = (events: readonly StoredEvent[]): readonly Run[] => {
  const runs: (Run & { readonly bodies: string[] })[] = [];
  let characters = 0;
  for (const { aggregate, version, at, trace, body } of events) {
    const run = runs.at(-1);
    const continues =
      run?.aggregate === aggregate &&
      run.first + run.bodies.length === version &&
      run.at === at &&
      run.trace === trace &&
      run.bodies.length < RUN_MAX_EVENTS &&
      characters < RUN_CHARACTERS;
    if (continues) run.bodies.push(body);
    else runs.push({ aggregate, first: version, at, trace, bodies: [body] });
    characters = (continues ? characters : 0) + body.length;
  }
  return runs;
};

/** The runs without their bodies. */
const runsJson = (runs: readonly Run[]): string =>
  `[${runs
    .map(
      ({ aggregate, first, at, trace }) =>
        `{"aggregate":${quoted(aggregate)},"first":${String(first)},"at":${String(at)},` +
        `"trace":${trace === undefined ? 'null' : quoted(trace)}}`,
    )
    .join(',')}]`;

const eventParameters = (events: readonly StoredEvent[]): readonly unknown[] => {
  const runs = runsOf(events);
  return [runsJson(runs), jsonArray(runs.map(({ bodies }) => `[${bodies.join(',')}]`))];
};

const JSON_TYPE = 114;
const ARRAY_HEAD_BYTES = 20;
const LENGTH_BYTES = 4;

/** A `json[]` as the server sends and receives it: as text, every quotation mark would be escaped. */
const jsonArray = (bodies: readonly string[]): Buffer => {
  const sizes = bodies.map((body) => Buffer.byteLength(body));
  const size = sizes.reduce((sum, bytes) => sum + LENGTH_BYTES + bytes, ARRAY_HEAD_BYTES);
  const array = Buffer.allocUnsafe(size);
  // Dimensions, no nulls, type; the length of the dimension and its first index.
  let end = 0;
  for (const field of [1, 0, JSON_TYPE, bodies.length, 1]) end = array.writeInt32BE(field, end);
  for (const [index, body] of bodies.entries()) {
    end = array.writeInt32BE(sizes[index] ?? 0, end);
    end += array.write(body, end);
  }
  return array;
};

type Heads = { readonly created: readonly object[]; readonly changed: readonly object[] };

/** In one order everywhere, so that no two batches deadlock. `before` is the version that the batch has found. */
const headsOf = ({ heads, events }: BatchWrite): Heads => {
  const before = new Map<string, number>();
  for (const { aggregate, version } of events) if (!before.has(aggregate)) before.set(aggregate, version - 1);
  const all = heads
    .toSorted((a, b) => (a.aggregate < b.aggregate ? -1 : 1))
    .map((head) => ({ ...head, before: before.get(head.aggregate) ?? head.version }));
  return { created: all.filter((head) => head.before === 0), changed: all.filter((head) => head.before > 0) };
};

const headsJson = (heads: readonly object[]): readonly unknown[] => [JSON.stringify(heads), heads.length];

type Range = { readonly aggregate: string; readonly first: number; readonly last: number };

/** The versions that a batch announces, as ranges without gaps. */
const ranges = (events: readonly StoredEvent[]): readonly Range[] => {
  const found: Range[] = [];
  const latest = new Map<string, number>();
  for (const { aggregate, version } of events) {
    const index = latest.get(aggregate);
    const range = index === undefined ? undefined : found[index];
    if (index !== undefined && range?.last === version - 1) found[index] = { ...range, last: version };
    else latest.set(aggregate, found.push({ aggregate, first: version, last: version }) - 1);
  }
  return found;
};

export const outboxJson = (messages: readonly WireMessage[]): string =>
  `[${messages
    .map(
      ({ subject, headers, body }) =>
        `{"subject":${quoted(subject)},"headers":${JSON.stringify(headers)},"body":${body}}`,
    )
    .join(',')}]`;

export const snapshotsJson = (snapshots: BatchWrite['snapshots']): string =>
  `[${snapshots
    .map(
      ({ aggregate, version, state }) =>
        `{"aggregate":${quoted(aggregate)},"version":${String(version)},"state":${state}}`,
    )
    .join(',')}]`;

export const sharedJson = (contents: readonly SharedContent[]): string =>
  `[${contents.map(({ digest, body }) => `{"digest":${quoted(digest)},"content":${body}}`).join(',')}]`;

export const deadLettersJson = (rows: readonly DeadLetterRow[]): string =>
  JSON.stringify(
    rows.map(({ id, letter, body }) => ({ id, letter, body: Buffer.from(body).toString('base64') })),
  );

/** The parts that a batch has, in the order of their parameters. `purged`: what a batch without locks assumes of the purges. */
export const writeParts = (
  write: BatchWrite,
  purged?: string,
): readonly { readonly part: WritePart; readonly values: readonly unknown[] }[] => {
  const announced = ranges(write.announced);
  const { created, changed } = headsOf(write);
  const parts = [
    {
      part: 'events',
      rows: write.events.length,
      values: () => eventParameters(write.events),
    },
    { part: 'created', rows: created.length, values: () => headsJson(created) },
    { part: 'changed', rows: changed.length, values: () => headsJson(changed) },
    {
      part: 'cleared',
      rows: write.timersCleared.length,
      values: () => [JSON.stringify(write.timersCleared)],
    },
    { part: 'timed', rows: write.timersSet.length, values: () => [JSON.stringify(write.timersSet)] },
    { part: 'snapped', rows: write.snapshots.length, values: () => [snapshotsJson(write.snapshots)] },
    { part: 'listed', rows: write.listed?.length ?? 0, values: () => [JSON.stringify(write.listed)] },
    { part: 'unlisted', rows: write.unlisted?.length ?? 0, values: () => [write.unlisted] },
    { part: 'outboxConfirmed', rows: write.outboxConfirmed.length, values: () => [write.outboxConfirmed] },
    {
      part: 'outbox',
      rows: write.outbox.length + announced.length,
      values: () => [outboxJson(write.outbox), JSON.stringify(announced)],
    },
    { part: 'assumed', rows: purged === undefined ? 0 : 1, values: () => [purged] },
  ] as const;
  return parts.filter(({ rows }) => rows > 0).map(({ part, values }) => ({ part, values: values() }));
};
