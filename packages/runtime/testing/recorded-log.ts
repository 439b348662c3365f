import { type Logger, silentLogger } from '../src/observability/log.ts';

export type Logged = { readonly message: string; readonly fields: Readonly<Record<string, unknown>> };

/** A logger whose warnings and errors a test can read. */
export const recordedLog = (): { readonly log: Logger; readonly lines: readonly Logged[] } => {
  const lines: Logged[] = [];
  const note = (fields: object, message: string): void => {
    lines.push({ message, fields: { ...fields } });
  };
  return { log: Object.assign(silentLogger(), { warn: note, error: note }), lines };
};
