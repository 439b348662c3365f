import type { WorkerLog } from '../activation/session/port.ts';

/** Where nothing else is said: a line of JSON for each, to standard error. */
export const logToStandardError: WorkerLog = (line) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
};
