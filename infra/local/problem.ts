/** A failure that the person at the terminal can mend: shown as one line, without a stack. */
export class Problem extends Error {
  override readonly name = 'Problem';
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
