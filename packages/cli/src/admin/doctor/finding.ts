/** `warn`: works, but needs attention. `fail`: does not work, or will soon stop working. */
export type Standing = 'ok' | 'warn' | 'fail';

export type Finding = {
  /** Subject of the check: `nats`, `service recovery`, `stream HP_CMD`. Stable across releases. */
  readonly check: string;
  readonly standing: Standing;
  readonly says: string;
  /** Suggested action, if any. */
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

export const sizeText = (bytes: number): string => {
  if (bytes < MIB) return `${String(Math.ceil(bytes / 1024))} KiB`;
  if (bytes < 1024 * MIB) return `${String(Math.round(bytes / MIB))} MiB`;
  return `${(bytes / (1024 * MIB)).toFixed(1)} GiB`;
};
