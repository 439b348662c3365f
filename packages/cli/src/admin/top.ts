import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { duration } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { frameOf } from './top/frame.ts';
import { type Look, lookAround } from './top/look.ts';

const EVERY_MS = 2_000;
/** Rates take two looks. */
const BETWEEN_MS = 1_000;
const COLUMNS = 80;
/** The terminal's own: what stood there is under the first frame no more. */
const CLEAR = '\u001b[2J\u001b[H';

type Options = { readonly once?: true; readonly every: number; readonly json?: true };

export const addTop = (
  program: Command,
  { use, lines, redraw, verbatim, json, now, terminal }: Session,
): void => {
  const once = async (client: Client, asJson: boolean): Promise<undefined> => {
    const first = await lookAround(client, now);
    if (asJson) {
      json(first);
      return undefined;
    }
    await pause(BETWEEN_MS);
    lines(frameOf(await lookAround(client, now), first, terminal()?.columns ?? COLUMNS));
    return undefined;
  };
  /** Until it is interrupted: whoever looks ends it. */
  const live = async (client: Client, everyMs: number): Promise<undefined> => {
    const shown = terminal();
    if (shown?.ansi === true) verbatim(CLEAR);
    for (let before: Look | undefined; ;) {
      const look = await lookAround(client, now);
      const frame = frameOf(look, before, shown?.columns ?? COLUMNS);
      if (shown?.ansi === true) redraw(frame);
      else lines([...frame, '']);
      before = look;
      await pause(everyMs);
    }
  };
  withExample(
    program
      .command('top')
      .description(
        'show what the system does, again and again: tasks, approvals, effects, stuck jobs, circuits, lag',
      )
      .option('--once', 'one frame, for scripts')
      .option('--every <time>', 'how long between two frames, such as 5s', duration, EVERY_MS)
      .option('--json', 'one look as JSON')
      .action(({ once: one, every, json: asJson }: Options) =>
        use((client) =>
          one === true || asJson === true ? once(client, asJson === true) : live(client, every),
        ),
      ),
    'top',
    'top --once',
  );
};
