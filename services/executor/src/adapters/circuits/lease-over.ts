import { CleanFailure } from '../../ports/capability.ts';

/** The executor was too slow: nothing was sent, and nothing is known of the target by it. */
export class LeaseOver extends CleanFailure {}
