/**
 * Minimum retention. It exceeds the lifetime of everything that may refer to a row: a grant lasts an hour,
 * a command stays on the bus for 72 hours. An earlier purge would lose the record that an old order was
 * executed.
 */
export const KEEP_MIN_DAYS = 4;

/** Default retention. */
export const KEEP_DAYS = 90;

/** Maximum retention; larger values are mistakes. */
export const KEEP_MAX_DAYS = 36_500;
