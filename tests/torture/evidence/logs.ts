import type { Text } from '../deployment/deployment.ts';

/** Log lines of unhandled errors. */
const OUTCRY = /unhandled|MaxListenersExceeded|out of memory|FATAL ERROR|Uncaught|"level":60\b/i;
const REPORTED_MAX = 50;
const LINE_SHOWN = 300;

async function* linesOf({ parts }: Text): AsyncIterable<string> {
  let rest = '';
  for await (const part of parts()) {
    const lines = (rest + part.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Finds unhandled errors in the logs, and counts the lines. */
export const findOutcries = async (
  logs: readonly Text[],
): Promise<{ readonly outcries: readonly string[]; readonly lines: number }> => {
  const outcries: string[] = [];
  let lines = 0;
  for (const log of logs) {
    for await (const line of linesOf(log)) {
      lines += 1;
      if (OUTCRY.test(line) && outcries.length < REPORTED_MAX)
        outcries.push(`${log.name}: ${line.slice(0, LINE_SHOWN)}`);
    }
  }
  return { outcries, lines };
};
