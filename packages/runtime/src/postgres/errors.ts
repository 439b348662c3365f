import { Conflict, DataRefused } from '../ports.ts';
import { codeOf } from './pool.ts';

const RETRY = new Set(['40001', '40P01', '55P03', '23505']);

/** What an error of the database means for the batch that met it. An SQLSTATE proves that nothing was committed. */
export const classify = (error: unknown): unknown => {
  const code = codeOf(error);
  if (RETRY.has(code)) return new Conflict(`database says ${code}`, { cause: error });
  if (/^2[23][0-9A-Z]{3}$/.test(code)) return new DataRefused(`database says ${code}`, { cause: error });
  return error;
};

export const isSqlState = (error: unknown): boolean => /^[0-9A-Z]{5}$/.test(codeOf(error));
