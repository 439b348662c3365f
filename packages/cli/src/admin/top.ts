import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { duration } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { frameOf } from './top/frame.ts';
import { type Sample, takeSample } from './top/sample.ts';

const EVERY_MS = 2_000;
/** Rates need two samples. */
const BETWEEN_MS = 1_000;
const COLUMNS = 80;
const CLEAR = '\u001b[2J\u001b[H';

type Options = { readonly once?: true; readonly every: number; readonly json?: true };

export const addTop = (
  admin: Command,
  { use, lines, redraw, verbatim, json, now, terminal }: Session,
): void => {
  const once = async (client: Client, asJson: boolean): Promise<undefined> => {
    const first = await takeSample(client, now);
    if (asJson) {
      json(first);
      return undefined;
    }
    await pause(BETWEEN_MS);
    lines(frameOf(await takeSample(client, now), first, terminal()?.columns ?? COLUMNS));
    return undefined;
  };
  /** Redraws until interrupted. */
  const live = async (client: Client, everyMs: number): Promise<undefined> => {
    const shown = terminal();
    if (shown?.ansi === true) verbatim(CLEAR);
    for (let before: Sample | undefined; ;) {
      const sample = await takeSample(client, now);
      const frame = frameOf(sample, before, shown?.columns ?? COLUMNS);
      if (shown?.ansi === true) redraw(frame);
      else lines([...frame, '']);
      before = sample;
      await pause(everyMs);
    }
  };
  withExample(
    admin
      .command('top')
      .description(
        'show tasks, approvals, effects, stuck jobs, circuits and backlogs, refreshed until interrupted',
      )
      .option('--once', 'print one frame and exit')
      .option('--every <time>', 'refresh interval, such as 5s', duration, EVERY_MS)
      .option('--json', 'print one sample as JSON and exit')
      .action(({ once: one, every, json: asJson }: Options) =>
        use((client) =>
          one === true || asJson === true ? once(client, asJson === true) : live(client, every),
        ),
      ),
    'admin top',
    'admin top --once',
  );
};
