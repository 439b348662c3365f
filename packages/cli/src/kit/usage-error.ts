/** The command line or the surroundings are not as they have to be; nothing was asked of anybody. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
