import { createCounting } from '@holdpoint/runtime/store/counting';

/** What has not ended is counted for whoever looks after the system. */
export const up = createCounting;
