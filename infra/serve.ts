import { CORE_SERVICES, SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { EXIT_CONFIG } from '@holdpoint/contracts/values/settings';
import { type Define, runProcess } from '@holdpoint/runtime/service/process';

const DEFINES: Readonly<Record<ServiceName, Define>> = {
  orchestrator: async (env, log) => (await import('@holdpoint/orchestrator/service')).define(env, log),
  approvals: async (env, log) => (await import('@holdpoint/approvals/service')).define(env, log),
  executor: async (env, log) => (await import('@holdpoint/executor/service')).define(env, log),
  recovery: async (env, log) => (await import('@holdpoint/recovery/service')).define(env, log),
};

const isService = (name: string): name is ServiceName => (SERVICES as readonly string[]).includes(name);

/** The services that `HOLDPOINT_SERVICES` names, `core` and `all` among the names; undefined when a name is wrong. */
export const servicesIn = (text: string): readonly ServiceName[] | undefined => {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .flatMap((name): readonly string[] => {
      if (name === 'all') return SERVICES;
      return name === 'core' ? CORE_SERVICES : [name];
    });
  return names.every(isService) ? SERVICES.filter((each) => names.includes(each)) : undefined;
};

/** Runs services from their settings, in this process. Ends with the process. */
export const serve = async (names: string): Promise<void> => {
  const services = servicesIn(names);
  if (services === undefined) {
    const known = [...SERVICES, 'core', 'all'].join(', ');
    process.stderr.write(`HOLDPOINT_SERVICES: expected names out of ${known}, comma-separated\n`);
    process.exit(EXIT_CONFIG);
  }
  await runProcess(Object.fromEntries(services.map((name) => [name, DEFINES[name]])), process.env);
};

if (import.meta.main) await serve(process.env['HOLDPOINT_SERVICES'] ?? '');
