import { runProcess } from '@holdpoint/runtime/service/process';
import { readConfig } from './config.ts';
import { startExecutor } from './service.ts';

await runProcess('executor', process.env, async (env, log) => startExecutor(readConfig(env), log));
