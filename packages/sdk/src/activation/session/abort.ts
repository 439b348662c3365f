/** Why a phase must stop; part of `signal.reason`. */
export type AbortCause =
  /** The task was cancelled. */
  | 'cancelled'
  /** Another worker got the lease, or it could not be renewed. */
  | 'lost'
  /** The phase exceeded its `timeoutMs`. */
  | 'timeout'
  /** The worker stops, and another one continues the phase. */
  | 'stopping';

/** The reason of `context.signal`; context calls throw it after the abort. */
export class PhaseAborted extends Error {
  override readonly name = 'PhaseAborted';
  readonly why: AbortCause;

  constructor(why: AbortCause, message: string) {
    super(message);
    this.why = why;
  }
}
