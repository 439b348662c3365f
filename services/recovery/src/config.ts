import { ServiceEnv } from '@holdpoint/runtime/config';

export const RecoveryEnv = ServiceEnv;
export type RecoveryEnv = ServiceEnv;
