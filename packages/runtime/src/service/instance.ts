import { hostname } from 'node:os';

/** One process among all of them: containers all have the same few process ids. */
export const instanceName = (service: string): string => `${service}-${hostname()}-${String(process.pid)}`;
