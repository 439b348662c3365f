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

/** One thing that has happened to an approval. */
export type FeedEvent = {
  /** Of its line in the audit log: whoever has seen it can go on from there. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly type: ApprovalEvent['type'];
  readonly id: string;
  /** What the audit log keeps of it. */
  readonly entry: JsonObject;
  /** The approval as it is by now, which may be later than the event. */
  readonly view: ApprovalView;
};

export type Follower = {
  readonly onEvent: (event: FeedEvent) => void;
  /** Whether it can take another one: asked while it catches up. */
  readonly ready?: () => boolean;
  /** The log was set back: what it has heard may not have happened, and what comes next follows `seq`. */
  readonly onReset?: (seq: number) => void;
};

export type Following = { readonly seq: () => number; readonly stop: () => void };

export type Feed = {
  /** Everything that happens to approvals after this line: in order, each once. */
  readonly follow: (follower: Follower, after: number) => Following;
  /** How far the log was read, for whoever follows from now on. */
  readonly seq: () => Promise<number>;
  /** Looks at once for more: for a follower that has become ready. */
  readonly wake: () => void;
  readonly stop: () => Promise<void>;
};

/** The bus may forget to tell. */
const POLL_MS = 1_000;
/** What is committed in the meantime is told together. */
const BETWEEN_ROUNDS_MS = 20;
/** Lines read at once: a follower that is far behind is told the rest in the rounds after. */
const LINES = 200;

const TYPES: ReadonlySet<string> = new Set(ApprovalEvent.options.map(({ shape }) => shape.type.value));
const isType = (type: string): type is ApprovalEvent['type'] => TYPES.has(type);

type Member = { readonly follower: Follower; seq: number; joined: number };

/**
 * Tells what happens to approvals, as the audit log has it: it is without gaps and in the order of commits, so that nothing is
 * missed by going on from a line. One reading serves all who are up to date, and one more those who lag behind most.
 */
export const createFeed = (pool: Pool, listener: Pick<Listener, 'listen'>, log: Logger): Feed => {
  const members = new Set<Member>();
  /** The line that was read last. */
  let place: LogPosition | undefined;
  let rounds = 0;

  const drop = (member: Member, error: unknown): void => {
    members.delete(member);
    log.error(errorFields(error), 'a follower of the feed could not be told');
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

  /** What of each line followers are told: nothing of rules, tokens and of what is gone. */
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

  const restartFromHead = async (asked: readonly Member[]): Promise<void> => {
    place = await readHead(pool);
    log.warn({ seq: place.seq }, 'the audit log was set back');
    for (const member of asked) setBack(member, place.seq);
  };

  /** Hands over what is new. False when there may be more. */
  const readNewLines = async (): Promise<boolean> => {
    const asked = [...members];
    if (place === undefined || asked.length === 0) {
      place = await readHead(pool);
      return true;
    }
    // The line that was last read comes again, and has to be the same.
    const known = place.seq > 0 ? 1 : 0;
    const lines = await readLines(pool, place.seq + 1 - known, LINES + known);
    if (known === 1 && (lines[0]?.seq !== place.seq || lines[0].hash !== place.hash)) {
      await restartFromHead(asked);
      return true;
    }
    const fresh = lines.slice(known);
    const eventOf = await eventsOf(fresh);
    for (const line of fresh) {
      const event = eventOf(line);
      for (const member of members) if (member.seq === line.seq - 1) deliver(member, line, event);
      place = line;
      // Others have a turn between one line and the next, however many follow.
      await yieldToEventLoop();
    }
    if (fresh.length === LINES) return false;
    // Whoever says to have heard more than there is has heard it from a log that was set back.
    for (const member of asked)
      if (member.seq > place.seq && member.joined < rounds) setBack(member, place.seq);
    return true;
  };

  const behind = (upTo: number): readonly Member[] =>
    [...members].filter(({ seq, follower }) => seq < upTo && (follower.ready?.() ?? true));

  /** Helps those on who lag behind most. False when some are left. */
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
        const areThere = await catchUp(place?.seq ?? 0);
        if (!isThrough || !areThere) wanted = true;
      } catch (error) {
        // Asked again with the next poll.
        wanted = false;
        log.warn(errorFields(error), 'the audit log cannot be followed at the moment');
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

  listener.listen([filters.factsOf('approval')], () => {
    if (members.size > 0) wake();
  });
  const polling = startPeriodic('feed', POLL_MS, wake, log);

  return {
    seq: async () => {
      if (place !== undefined) return place.seq;
      const head = await readHead(pool);
      return (place ??= head).seq;
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
