import type * as Sqlite from 'node:sqlite';

/** Loads SQLite without the warning of Node.js 22 that it is experimental. Locks need only the part that later releases keep. */
export const loadSqlite = (): typeof Sqlite => {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
};
