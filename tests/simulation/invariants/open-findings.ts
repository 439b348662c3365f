/** Known faults of the product. */
export type Finding = 'a forged approval extends a budget';

/** Each name leaves out one check. Remove the name together with the fault. */
const OPEN: ReadonlySet<Finding> = new Set<Finding>(['a forged approval extends a budget']);

export const isOpen = (finding: Finding): boolean => OPEN.has(finding);
