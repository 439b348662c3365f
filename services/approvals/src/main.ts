import { runProcess } from '@holdpoint/runtime/service/process';
import { readConfig } from './config.ts';
import { startApprovals } from './service.ts';

await runProcess('approvals', process.env, async (env, log) => startApprovals(readConfig(env), log));
