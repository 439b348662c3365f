import { createCounting } from '@holdpoint/runtime/store/counting';

/** Open tasks are counted for the metrics. */
export const up = createCounting;
