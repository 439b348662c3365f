import { CLASSES } from '../tasks/labels.ts';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** Stacking order of the classes. */
export const FAILURE_ORDER = Object.keys(CLASSES) as readonly FailureClass[];
