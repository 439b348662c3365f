import type { AnyTarget } from './target.ts';
import { answers } from './targets/answers.ts';
import { approval } from './targets/approval.ts';
import { classification } from './targets/classification.ts';
import { consoleTarget } from './targets/console.ts';
import { commandLine } from './targets/command-line.ts';
import { definitions } from './targets/workflows/definitions.ts';
import { templates } from './targets/workflows/templates.ts';
import { expressions } from './targets/workflows/expressions.ts';
import { flowConfig } from './targets/workflows/workflow-config.ts';
import { steps } from './targets/steps.ts';
import { gates } from './targets/workflows/gates.ts';
import { fork } from './targets/fork.ts';
import { effect } from './targets/effect.ts';
import { environment } from './targets/environment.ts';
import { grants } from './targets/grants.ts';
import { health } from './targets/health.ts';
import { names } from './targets/names.ts';
import { outside } from './targets/outside.ts';
import { programs } from './targets/programs.ts';
import { recovery } from './targets/recovery.ts';
import { recoveryRules } from './targets/workflows/recovery-rules.ts';
import { schemas } from './targets/schemas.ts';
import { settings } from './targets/settings.ts';
import { task } from './targets/task.ts';

/** Every consumer of untrusted input. A new surface adds a file to `targets/` and a row here. */
export const targets: readonly AnyTarget[] = [
  schemas,
  task,
  approval,
  effect,
  recovery,
  answers,
  commandLine,
  consoleTarget,
  settings,
  names,
  grants,
  environment,
  outside,
  health,
  fork,
  programs,
  steps,
  flowConfig,
  recoveryRules,
  classification,
  expressions,
  templates,
  gates,
  definitions,
];
