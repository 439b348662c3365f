import { readFile } from 'node:fs/promises';
import { logContextFields } from '@holdpoint/runtime/observability/log-context';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { pino } from 'pino';
import { z } from 'zod';

const LogLine = z.looseObject({
  level: z.number(),
  msg: z.string().default(''),
  instance: z.string().optional(),
});
export type LogLine = z.infer<typeof LogLine>;

/** The log lines of a service, oldest first. */
export type LogRecord = { readonly lines: () => Promise<readonly LogLine[]> };

const parseLines = (text: string): readonly LogLine[] =>
  // Lines without JSON are not log lines of the service, for example warnings of Node.js. The last line
  // may be incomplete.
  text.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return [];
    return [LogLine.parse(JSON.parse(line))];
  });

/** A logger whose lines a test can read. */
export const recordingLogger = (service: string): LogRecord & { readonly log: Logger } => {
  let text = '';
  const write = (line: string): void => {
    text += line;
  };
  return {
    log: pino({ level: 'info', base: { service }, mixin: logContextFields }, { write }),
    lines: () => Promise.resolve(parseLines(text)),
  };
};

export const logOfFile = (path: string): LogRecord => ({
  lines: async () => parseLines(await readFile(path, 'utf8')),
});
