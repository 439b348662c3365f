import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Ended } from './deployment.ts';

const Died = z.object({
  time: z.number(),
  Actor: z.object({ Attributes: z.looseObject({ name: z.string(), exitCode: z.string().optional() }) }),
});

/** An exit within this time counts as caused by the torture. */
const CAUSED_WITHIN_MS = 30_000;

/** Reports every container that exits, and whether the torture caused it. */
export const watchEnds = (project: string, watched: ReadonlySet<string>) => {
  const filters = [
    'event=die',
    `label=com.docker.compose.project=${project}`,
    'label=com.docker.compose.oneoff=False',
  ];
  const events = spawn(
    'docker',
    ['events', '--format', '{{json .}}', ...filters.flatMap((filter) => ['--filter', filter])],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const ended: Ended[] = [];
  const causedAt = new Map<string, number>();
  createInterface({ input: events.stdout }).on('line', (line) => {
    const died = Died.safeParse(JSON.parse(line));
    if (!died.success) return;
    const { name, exitCode = '?' } = died.data.Actor.Attributes;
    if (!watched.has(name)) return;
    const caused = performance.now() - (causedAt.get(name) ?? -Infinity) < CAUSED_WITHIN_MS;
    ended.push({ name, at: new Date(died.data.time * 1_000).toISOString(), how: `code ${exitCode}`, caused });
  });
  return {
    ended: (): readonly Ended[] => ended,
    /** Announces an exit that the torture causes. */
    expect: (name: string): void => void causedAt.set(name, performance.now()),
    stop: (): void => void events.kill(),
  };
};
