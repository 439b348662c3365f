/** `warn`: it works, and somebody should look. `fail`: something does not work, or soon will not. */
export type Standing = 'ok' | 'warn' | 'fail';

/** One thing that was looked at. */
export type Finding = {
  /** What was looked at: `nats`, `service recovery`, `stream HP_CMD`. A promise, as codes are. */
  readonly check: string;
  readonly standing: Standing;
  readonly says: string;
  /** What to do about it, where there is something to do. */
  readonly todo?: string;
};

export const ok = (check: string, says: string): Finding => ({ check, standing: 'ok', says });
export const warn = (check: string, says: string, todo: string): Finding => ({
  check,
  standing: 'warn',
  says,
  todo,
});
export const fail = (check: string, says: string, todo: string): Finding => ({
  check,
  standing: 'fail',
  says,
  todo,
});

const MIB = 1024 * 1024;

/** `46 MiB`, `1.5 GiB`. */
export const sizeText = (bytes: number): string => {
  if (bytes < MIB) return `${String(Math.ceil(bytes / 1024))} KiB`;
  if (bytes < 1024 * MIB) return `${String(Math.round(bytes / MIB))} MiB`;
  return `${(bytes / (1024 * MIB)).toFixed(1)} GiB`;
};
