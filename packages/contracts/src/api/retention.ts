/**
 * What has ended is kept at least so long. It is far above everything that could still be told of it: a grant is good for an
 * hour, a command stays on the bus for 72. A row that goes sooner could no longer say that an old order was carried out.
 */
export const KEEP_MIN_DAYS = 4;

/** What nobody has set otherwise. */
export const KEEP_DAYS = 90;

/** What nobody lives to see, and what a mistake looks like. */
export const KEEP_MAX_DAYS = 36_500;
