import type { BatchWrite, DeadLetterRow, Head, StoredEvent, WireMessage } from '../engine/ports.ts';
import type { SharedContent } from '../engine/shared-content.ts';

// Bodies are JSON text already: inserting them as they are avoids building every message twice.

const quoted = (text: string): string => JSON.stringify(text);

export const eventsJson = (events: readonly StoredEvent[]): string =>
  `[${events
    .map(
      ({ aggregate, version, type, at, trace, body }) =>
        `{"aggregate":${quoted(aggregate)},"version":${String(version)},"type":${quoted(type)},"at":${String(at)},` +
        `"trace":${trace === undefined ? 'null' : quoted(trace)},"data":${body}}`,
    )
    .join(',')}]`;

/** In one order everywhere, so that no two batches deadlock. */
const headsJson = (heads: readonly Head[]): string =>
  JSON.stringify(heads.toSorted((a, b) => (a.aggregate < b.aggregate ? -1 : 1)));

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

export const writeParameters = (write: BatchWrite): readonly unknown[] => {
  const announced = ranges(write.announced);
  return [
    eventsJson(write.events),
    headsJson(write.heads),
    JSON.stringify(write.timersCleared),
    JSON.stringify(write.timersSet),
    snapshotsJson(write.snapshots),
    write.outboxConfirmed,
    outboxJson(write.outbox),
    JSON.stringify(announced),
  ];
};
