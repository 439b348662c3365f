import { runProcess } from '@holdpoint/runtime/service/process';
import { define } from './service.ts';

await runProcess({ executor: define }, process.env);
