import type { StreamMark, Watermark } from '../store/bus-watermark.ts';

/** The positions of a consumer in its stream. */
export type ConsumerLook = { readonly delivered: number; readonly floor: number };

/** Why the positions of consumers may belong to another content of their stream. */
export const DISPLACEMENTS = ['ahead', 'recreated', 'gone_back', 'restarted'] as const;
export type Displacement = (typeof DISPLACEMENTS)[number];

/** The start of a recreated consumer. */
export type Start = 'all' | { readonly at: string };

const SERVERS_MAX = 16;
/** Above the step of a server clock that time synchronization corrects at once. */
const MARGIN_MS = 60_000;

/** Whether a consumer believes to have delivered messages that the stream does not have. */
export const isAhead = ({ delivered, floor }: ConsumerLook, lastSeq: number): boolean =>
  Math.max(delivered, floor) > lastSeq;

/**
 * Why the consumers of a stream must be recreated; undefined when their positions are right. A restarted server may have
 * lost its tail and have grown beyond it since, which no number shows: each restart counts.
 */
export const displacementOf = (
  { servers, streams }: Watermark,
  server: string,
  name: string,
  stream: StreamMark,
  consumers: readonly ConsumerLook[],
): Displacement | undefined => {
  const mark = streams[name];
  if (mark !== undefined && mark.created !== stream.created) return 'recreated';
  if (consumers.some((consumer) => isAhead(consumer, stream.lastSeq))) return 'ahead';
  if (mark !== undefined && stream.lastSeq < mark.lastSeq) return 'gone_back';
  return servers.includes(server) ? undefined : 'restarted';
};

/**
 * The start of displaced consumers. All messages that a server stored after its loss are younger than the last message that
 * was seen before. Without a mark, and in a new stream, every message may be unread.
 */
export const startOf = (displacement: Displacement, mark: StreamMark | undefined): Start => {
  const at = Date.parse(mark?.lastAt ?? '');
  // An empty stream has the year 1 as its time.
  return displacement === 'recreated' || Number.isNaN(at) || at < MARGIN_MS
    ? 'all'
    : { at: new Date(at - MARGIN_MS).toISOString() };
};

export const markedBy = (
  { servers }: Watermark,
  server: string,
  streams: Watermark['streams'],
): Watermark => ({
  servers: [server, ...servers.filter((each) => each !== server)].slice(0, SERVERS_MAX),
  streams,
});
