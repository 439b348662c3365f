import { readEnv } from '@holdpoint/runtime/config';
import { runProcess } from '@holdpoint/runtime/process';
import { RecoveryEnv } from './config.ts';
import { startRecovery } from './service.ts';

await runProcess('recovery', process.env, async (env, log) => startRecovery(readEnv(RecoveryEnv, env), log));
