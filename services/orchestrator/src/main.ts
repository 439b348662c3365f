import { runProcess } from '@holdpoint/runtime/service/process';
import { define } from './service.ts';

await runProcess({ orchestrator: define }, process.env);
