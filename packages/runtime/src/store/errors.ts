import { Conflict, DataRefused } from '../engine/ports.ts';
import { codeOf } from './pool.ts';

/**
 * 25P02: another part of the transaction has failed, and reports the cause. 22012: a version differs from the one that the batch
 * was decided on (`demanded` in the statements).
 */
const RETRY = new Set(['40001', '40P01', '55P03', '23505', '25P02', '22012']);

/** Maps a database error for the engine. An SQLSTATE proves that nothing was committed. */
export const classify = (error: unknown): unknown => {
  const code = codeOf(error);
  if (RETRY.has(code)) return new Conflict(`database says ${code}`, { cause: error });
  if (/^2[23][0-9A-Z]{3}$/.test(code)) return new DataRefused(`database says ${code}`, { cause: error });
  return error;
};

/** Connection lost, too many of them, shutting down or crashed, out of disk or memory; 40P01, 55P03: a migration holds the table. */
const AWAY = /^((08|53|57|58|XX)[0-9A-Z]{3}|40P01|55P03)$/;
/** Messages and codes of the driver and the system for an unreachable server, and for the pool of a service that stops. */
const UNREACHED =
  /timeout|terminated|after calling end|ECONN|EPIPE|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT/i;

/** The store is unavailable at the moment; the request itself is fine. */
export const isAway = (error: unknown): boolean =>
  isSqlState(error)
    ? AWAY.test(codeOf(error))
    : UNREACHED.test(codeOf(error)) || (error instanceof Error && UNREACHED.test(error.message));

/** No SQLSTATE begins with E. Some system codes, such as EPIPE, are as long. */
export const isSqlState = (error: unknown): boolean => /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(codeOf(error));
