import type { BatchWrite, StoredEvent, WireMessage } from '../ports.ts';

// Bodies are JSON text already. Putting them in place as they are saves building every message a second time.

const quoted = (text: string): string => JSON.stringify(text);

export const eventsJson = (events: readonly StoredEvent[]): string =>
  `[${events
    .map(
      ({ aggregate, version, type, at, trace, body }) =>
        `{"aggregate":${quoted(aggregate)},"version":${String(version)},"type":${quoted(type)},"at":${String(at)},` +
        `"trace":${trace === undefined ? 'null' : quoted(trace)},"data":${body}}`,
    )
    .join(',')}]`;

/** The version that each changed aggregate ends the batch with. */
export const headsJson = (events: readonly StoredEvent[]): string => {
  const heads = new Map(events.map(({ aggregate, version }) => [aggregate, version]));
  // In one order everywhere, so that two batches never wait for each other in a ring.
  return JSON.stringify([...heads].sort(([a], [b]) => (a < b ? -1 : 1)).map(([aggregate, version]) => ({ aggregate, version })));
};

export const outboxJson = (messages: readonly WireMessage[]): string =>
  `[${messages
    .map(({ subject, headers, body }) => `{"subject":${quoted(subject)},"headers":${JSON.stringify(headers)},"body":${body}}`)
    .join(',')}]`;

export const snapshotsJson = (snapshots: BatchWrite['snapshots']): string =>
  `[${snapshots
    .map(({ aggregate, version, state }) => `{"aggregate":${quoted(aggregate)},"version":${String(version)},"state":${state}}`)
    .join(',')}]`;

export const writeParameters = (write: BatchWrite): readonly unknown[] => [
  eventsJson(write.events),
  headsJson(write.events),
  JSON.stringify(write.timersCleared),
  JSON.stringify(write.timersSet),
  snapshotsJson(write.snapshots),
  write.outboxConfirmed,
  outboxJson(write.outbox),
];
