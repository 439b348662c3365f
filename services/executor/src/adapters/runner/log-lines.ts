import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { LogLine, LogStream } from '@holdpoint/contracts/task/log';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Announce } from '@holdpoint/runtime/engine/ports';
import { stepOf } from '../../effect/step-name.ts';
import type { KeptLog } from '../artifacts/output-keeper.ts';

/** The output of one start of a step. Neither call fails. */
export type StepOutput = {
  /** Never waits for a reader. */
  readonly print: (stream: LogStream, line: string) => void;
  /** No more output follows. Resolves to the whole log once it is on the disk; undefined when none was kept. */
  readonly end: () => Promise<StoredArtifact | undefined>;
};

export type LogLinesParts = {
  readonly announce: Announce;
  readonly clock: Clock;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Removes secrets from a line. */
  readonly redact: (line: string) => string;
  /** The whole log of a start, with every line at full length. Left out: no log is kept. */
  readonly logOf?: (order: RunEffect, epoch: number) => KeptLog;
};

const LINE_BYTES_MAX = 8 * 1_024;
/** No reader could follow faster output, and the bus would have to carry it. */
const LINES_PER_SECOND = 2_000;
const SECOND_MS = 1_000;
/** How often, once a second, the final count of missing lines is offered to the bus. */
const LAST_TRIES = 60;
/** More lines than one start prints: a repeat numbers its lines above those of all starts before it. */
const LINES_OF_A_START = 1_000_000_000;

const cut = (line: string): string => {
  if (line.length * 3 <= LINE_BYTES_MAX) return line;
  const bytes = Buffer.from(line);
  // The cut may fall inside a character.
  return bytes.length <= LINE_BYTES_MAX
    ? line
    : `${bytes
        .subarray(0, LINE_BYTES_MAX - 3)
        .toString('utf8')
        .replace(/\uFFFD$/, '')}…`;
};

const omitted = (count: number): string =>
  `[holdpoint] ${String(count)} ${count === 1 ? 'line' : 'lines'} omitted here`;

/** Publishes the output of steps without waiting: lines that the bus cannot take at once are counted and left out. */
export const createLogLines =
  ({ announce, clock, now, redact, logOf }: LogLinesParts) =>
  (order: RunEffect, epoch: number): StepOutput => {
    const subject = subjects.log(order.effect.task, order.effect.node);
    const about = { attempt: order.attempt, step: stepOf(order) };
    let seq = (epoch - 1) * LINES_OF_A_START;
    let missing = 0;
    let second = { from: clock.now(), lines: 0 };
    const kept = logOf?.(order, epoch);

    const send = (stream: LogStream, line: string): boolean => {
      const body: LogLine = { ...about, stream, seq: seq + 1, line, at: now() };
      const taken = announce(subject, JSON.stringify(body));
      if (taken) seq += 1;
      return taken;
    };
    const reportMissing = (): boolean => {
      if (missing > 0 && send('stderr', omitted(missing))) missing = 0;
      return missing === 0;
    };
    const isTooFast = (): boolean => {
      const at = clock.now();
      if (at - second.from >= SECOND_MS) second = { from: at, lines: 0 };
      second.lines += 1;
      return second.lines > LINES_PER_SECOND;
    };
    const endWithin = (tries: number): void => {
      if (!reportMissing() && tries > 1) clock.after(SECOND_MS, () => endWithin(tries - 1));
    };

    return {
      print: (stream, line) => {
        let text: string | undefined;
        // Lazy: lines of a flood that nothing shows are not searched for secrets.
        const shown = (): string => (text ??= redact(line));
        kept?.say(stream, shown);
        if (isTooFast() || !reportMissing() || !send(stream, cut(shown()))) missing += 1;
      },
      end: () => {
        endWithin(LAST_TRIES);
        return kept?.end() ?? Promise.resolve(undefined);
      },
    };
  };
