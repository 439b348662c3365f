import { CLASSES } from '../tasks/labels.ts';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** The order in which classes stand upon one another in the chart. */
export const FAILURE_ORDER = Object.keys(CLASSES) as readonly FailureClass[];
