/** The command line or the environment is invalid; no service was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
