import { readEnv } from '@holdpoint/runtime/service/config';
import { runProcess } from '@holdpoint/runtime/service/process';
import { RecoveryEnv } from './config.ts';
import { startRecovery } from './service.ts';

await runProcess('recovery', process.env, async (env, log) => startRecovery(readEnv(RecoveryEnv, env), log));
