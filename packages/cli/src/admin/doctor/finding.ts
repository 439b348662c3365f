/** `warn`: works, but needs attention. `fail`: does not work, or will soon stop working. */
export type FindingStatus = 'ok' | 'warn' | 'fail';

export type Finding = {
  /** Subject of the check: `nats`, `service recovery`, `stream HP_CMD`. Stable across releases. */
  readonly check: string;
  readonly status: FindingStatus;
  readonly message: string;
  /** Suggested action, if any. */
  readonly action?: string;
};

export const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message });
export const warn = (check: string, message: string, action: string): Finding => ({
  check,
  status: 'warn',
  message,
  action,
});
export const fail = (check: string, message: string, action: string): Finding => ({
  check,
  status: 'fail',
  message,
  action,
});

const MIB = 1024 * 1024;

export const sizeText = (bytes: number): string => {
  if (bytes < MIB) return `${String(Math.ceil(bytes / 1024))} KiB`;
  if (bytes < 1024 * MIB) return `${String(Math.round(bytes / MIB))} MiB`;
  return `${(bytes / (1024 * MIB)).toFixed(1)} GiB`;
};
