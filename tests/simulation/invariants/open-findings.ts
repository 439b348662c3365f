/** What was found and is not mended yet. */
export type Finding = 'a forged approval extends a budget';

/** Each name leaves out one thing that an invariant would hold it to: whoever mends it takes the name away. */
const OPEN: ReadonlySet<Finding> = new Set<Finding>(['a forged approval extends a budget']);

export const isOpen = (finding: Finding): boolean => OPEN.has(finding);
