import { setImmediate as yieldToEventLoop, setTimeout as delay } from 'node:timers/promises';
import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { filters } from '@holdpoint/contracts/bus/subjects';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import { entryOf, type LogLine, type LogPosition, readHead, readLines, readViews } from './feed-reader.ts';

/** An event of an approval. */
export type FeedEvent = {
  /** Line in the audit log: a client resumes from it. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly type: ApprovalEvent['type'];
  readonly id: string;
  /** Fields of the event that the audit log keeps. */
  readonly entry: JsonObject;
  /** The current approval, which may be newer than the event. */
  readonly view: ApprovalView;
};

export type Follower = {
  readonly onEvent: (event: FeedEvent) => void;
  /** Whether it can take another event; asked during catch-up. */
  readonly ready?: () => boolean;
  /** The log was restored: events after `seq` may not have happened, and the next ones follow `seq`. */
  readonly onReset?: (seq: number) => void;
};

export type Following = { readonly seq: () => number; readonly stop: () => void };

export type Feed = {
  /** All events of approvals after this line, in order, each once. */
  readonly follow: (follower: Follower, after: number) => Following;
  /** The last line that was read: where new followers start. */
  readonly seq: () => Promise<number>;
  /** Reads at once, for a follower that has become ready. */
  readonly wake: () => void;
  readonly stop: () => Promise<void>;
};

/** Interval of reads, in case the bus drops a notification. */
const POLL_MS = 1_000;
/** Gathers events that are committed shortly after each other. */
const BETWEEN_ROUNDS_MS = 20;
/** Lines per read; the rest follows in later rounds. */
const LINES = 200;

const TYPES: ReadonlySet<string> = new Set(ApprovalEvent.options.map(({ shape }) => shape.type.value));
const isType = (type: string): type is ApprovalEvent['type'] => TYPES.has(type);

type Member = { readonly follower: Follower; seq: number; joined: number };

/**
 * Follows the events of approvals in the audit log. The log has no gaps and keeps the order of commits, so a
 * client can resume from any line. One read serves all followers that are up to date, and one more those
 * furthest behind.
 */
export const createFeed = (pool: Pool, listener: Pick<Listener, 'wake'>, log: Logger): Feed => {
  const members = new Set<Member>();
  let position: LogPosition | undefined;
  let rounds = 0;

  const drop = (member: Member, error: unknown): void => {
    members.delete(member);
    log.error(errorFields(error), 'feed follower failed');
  };

  const deliver = (member: Member, { seq }: LogLine, event: FeedEvent | undefined): void => {
    member.seq = seq;
    if (event === undefined) return;
    try {
      member.follower.onEvent(event);
    } catch (error) {
      drop(member, error);
    }
  };

  /** Event of each line; undefined for rules, tokens and purged approvals. */
  const eventsOf = async (lines: readonly LogLine[]): Promise<(line: LogLine) => FeedEvent | undefined> => {
    const about = new Set(lines.flatMap(({ type, aggregate }) => (isType(type) ? [aggregate] : [])));
    const views = await readViews(pool, [...about]);
    return (line) => {
      const { seq, at, type, aggregate: id } = line;
      const view = views.get(id);
      return view === undefined || !isType(type)
        ? undefined
        : { seq, at, type, id, entry: entryOf(line), view };
    };
  };

  const setBack = (member: Member, seq: number): void => {
    member.seq = seq;
    try {
      member.follower.onReset?.(seq);
    } catch (error) {
      drop(member, error);
    }
  };

  const restartFromHead = async (followers: readonly Member[]): Promise<void> => {
    position = await readHead(pool);
    log.warn({ seq: position.seq }, 'the audit log was restored to an earlier state');
    for (const member of followers) setBack(member, position.seq);
  };

  /** Delivers new lines. Returns false when there may be more. */
  const readNewLines = async (): Promise<boolean> => {
    const followers = [...members];
    if (position === undefined || followers.length === 0) {
      position = await readHead(pool);
      return true;
    }
    // The last line is read again, to detect a restored log.
    const known = position.seq > 0 ? 1 : 0;
    const lines = await readLines(pool, position.seq + 1 - known, LINES + known);
    if (known === 1 && (lines[0]?.seq !== position.seq || lines[0].hash !== position.hash)) {
      await restartFromHead(followers);
      return true;
    }
    const fresh = lines.slice(known);
    const eventOf = await eventsOf(fresh);
    for (const line of fresh) {
      const event = eventOf(line);
      for (const member of members) if (member.seq === line.seq - 1) deliver(member, line, event);
      position = line;
      await yieldToEventLoop();
    }
    if (fresh.length === LINES) return false;
    // A follower ahead of the log has read it before the log was restored.
    for (const member of followers)
      if (member.seq > position.seq && member.joined < rounds) setBack(member, position.seq);
    return true;
  };

  const behind = (upTo: number): readonly Member[] =>
    [...members].filter(({ seq, follower }) => seq < upTo && (follower.ready?.() ?? true));

  /** Delivers lines to the followers furthest behind. Returns false when some are still behind. */
  const catchUp = async (upTo: number): Promise<boolean> => {
    const late = behind(upTo);
    if (late.length === 0) return true;
    const from = Math.min(...late.map(({ seq }) => seq));
    const lines = await readLines(pool, from + 1, LINES);
    if (lines[0]?.seq !== from + 1) {
      for (const member of late) if (member.seq === from) setBack(member, upTo);
      return true;
    }
    const eventOf = await eventsOf(lines);
    for (const line of lines) {
      const next = line.seq > upTo ? [] : behind(upTo).filter(({ seq }) => seq === line.seq - 1);
      if (next.length === 0) continue;
      const event = eventOf(line);
      for (const member of next) deliver(member, line, event);
      await yieldToEventLoop();
    }
    return behind(upTo).length === 0;
  };

  let [wanted, stopped] = [false, false];
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    while (wanted && !stopped) {
      wanted = false;
      rounds += 1;
      try {
        const isThrough = await readNewLines();
        const areThere = await catchUp(position?.seq ?? 0);
        if (!isThrough || !areThere) wanted = true;
      } catch (error) {
        // The next poll tries again.
        wanted = false;
        log.warn(errorFields(error), 'audit log feed is unavailable');
      }
      if (wanted) await delay(BETWEEN_ROUNDS_MS);
    }
  };
  const wake = (): void => {
    wanted = true;
    if (stopped || running !== undefined) return;
    running = run().finally(() => {
      running = undefined;
      if (wanted) wake();
    });
  };

  listener.wake([filters.eventsOf('approval')], () => {
    if (members.size > 0) wake();
  });
  const poll = (): void => {
    if (members.size > 0) wake();
    // The head is read again for the next follower: the log may have been restored meanwhile.
    else if (running === undefined) position = undefined;
  };
  const polling = startPeriodic('feed', POLL_MS, poll, log);

  return {
    seq: async () => {
      if (position !== undefined) return position.seq;
      const head = await readHead(pool);
      return (position ??= head).seq;
    },
    wake,
    follow: (follower, after) => {
      const member: Member = { follower, seq: after, joined: rounds };
      members.add(member);
      wake();
      return { seq: () => member.seq, stop: () => void members.delete(member) };
    },
    stop: async () => {
      stopped = true;
      members.clear();
      await polling.stop();
      await running;
    },
  };
};
