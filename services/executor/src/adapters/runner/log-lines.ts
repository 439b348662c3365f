import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { LogLine, LogStream } from '@holdpoint/contracts/task/log';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Announce } from '@holdpoint/runtime/engine/ports';
import { stepOf } from '../../effect/step-name.ts';
import type { KeptLog } from '../artifacts/keeping.ts';

/** The output of one start of a step. Neither call fails. */
export type StepOutput = {
  /** Never waits for whoever watches. */
  readonly print: (stream: LogStream, line: string) => void;
  /** Nothing more will be said. Resolves to all that was, once it is on the disk; undefined when nothing was kept. */
  readonly end: () => Promise<StoredArtifact | undefined>;
};

export type LogLinesParts = {
  readonly announce: Announce;
  readonly clock: Clock;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Takes out of a line what nobody may see. */
  readonly redact: (line: string) => string;
  /** Where the whole log of a start is kept: every line, as long as it may be. Without it nowhere. */
  readonly logOf?: (order: RunEffect, epoch: number) => KeptLog;
};

const LINE_BYTES_MAX = 8 * 1_024;
/** What a program prints beyond it nobody could follow, and everybody would have to carry. */
const LINES_PER_SECOND = 2_000;
const SECOND_MS = 1_000;
/** How often, second after second, the bus is offered what the last line says. */
const LAST_TRIES = 60;
/** A start never prints as many; a repeat counts on above all of them, so that its lines are not taken for repeats. */
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

const leftOut = (count: number): string =>
  `[holdpoint] ${String(count)} ${count === 1 ? 'line was' : 'lines were'} left out here`;

/** Hands on what a step prints, as far as it can be handed on at once: nobody waits for whoever watches. */
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
    const tellMissing = (): boolean => {
      if (missing > 0 && send('stderr', leftOut(missing))) missing = 0;
      return missing === 0;
    };
    const isTooFast = (): boolean => {
      const at = clock.now();
      if (at - second.from >= SECOND_MS) second = { from: at, lines: 0 };
      second.lines += 1;
      return second.lines > LINES_PER_SECOND;
    };
    const endWithin = (tries: number): void => {
      if (!tellMissing() && tries > 1) clock.after(SECOND_MS, () => endWithin(tries - 1));
    };

    return {
      print: (stream, line) => {
        let text: string | undefined;
        // Of a flood, lines that nobody gets are not looked through.
        const shown = (): string => (text ??= redact(line));
        kept?.say(stream, shown);
        if (isTooFast() || !tellMissing() || !send(stream, cut(shown()))) missing += 1;
      },
      end: () => {
        endWithin(LAST_TRIES);
        return kept?.end() ?? Promise.resolve(undefined);
      },
    };
  };
