import { Conflict, DataRefused } from '../engine/ports.ts';
import { codeOf } from './pool.ts';

const RETRY = new Set(['40001', '40P01', '55P03', '23505']);

/** What an error of the database means for the batch that met it. An SQLSTATE proves that nothing was committed. */
export const classify = (error: unknown): unknown => {
  const code = codeOf(error);
  if (RETRY.has(code)) return new Conflict(`database says ${code}`, { cause: error });
  if (/^2[23][0-9A-Z]{3}$/.test(code)) return new DataRefused(`database says ${code}`, { cause: error });
  return error;
};

/** Connection lost, too many of them, shutting down or crashed, out of disk or memory. */
const AWAY = /^(08|53|57|58|XX)[0-9A-Z]{3}$/;
/** What the driver and the system say of a server that is not reached, or does not answer in time. */
const UNREACHED = /timeout|terminated|ECONN|EPIPE|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT/i;

/** The store cannot answer now: asking again later may help, and nothing is wrong with what was asked. */
export const isAway = (error: unknown): boolean =>
  isSqlState(error)
    ? AWAY.test(codeOf(error))
    : UNREACHED.test(codeOf(error)) || (error instanceof Error && UNREACHED.test(error.message));

/** No class of SQLSTATE begins with E; codes of the system do, and some of them (EPIPE) are as long. */
export const isSqlState = (error: unknown): boolean => /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(codeOf(error));
