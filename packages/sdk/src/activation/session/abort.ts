/** Why a phase may not go on: `signal.reason` is one of these. */
export type AbortCause =
  /** Somebody has cancelled the task. */
  | 'cancelled'
  /** The lease was given to another worker, or could not be kept. */
  | 'lost'
  /** The phase has worked longer than it may. */
  | 'timeout'
  /** The worker stops, and somebody else is to go on with it. */
  | 'stopping';

/** What `context.signal` aborts with, and what calls of the context throw from then on. */
export class PhaseAborted extends Error {
  override readonly name = 'PhaseAborted';
  readonly why: AbortCause;

  constructor(why: AbortCause, message: string) {
    super(message);
    this.why = why;
  }
}
