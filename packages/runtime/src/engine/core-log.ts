type Line = (fields: object, message: string) => void;

/** What the core writes its log with; a `Logger` is one. */
export interface CoreLog {
  warn: Line;
  error: Line;
}
