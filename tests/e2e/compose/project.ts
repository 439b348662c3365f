import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { isAlive } from '@holdpoint/infra/local/process/pid';
import { choosePorts } from '@holdpoint/infra/local/ports';
import type { Ports } from '@holdpoint/infra/local/ports';
import { messageOf } from '@holdpoint/infra/local/problem';
import { z } from 'zod';

export const MANIFEST = join(root, 'infra', 'compose', 'compose.yaml');
/**
 * The id of the process that created the project follows, so that a later run knows whether the project is
 * still in use.
 */
const PREFIX = 'holdpoint-e2e-';
const MINUTE_MS = 60_000;
/** Enough time to build images and fetch packages and base images. */
export const BUILD_WITHIN_MS = 15 * MINUTE_MS;
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
const COMPLAINT_LINES = 15;

type Options = { readonly env?: NodeJS.ProcessEnv; readonly timeoutMs?: number };

export const docker = (
  args: readonly string[],
  { env, timeoutMs = 2 * MINUTE_MS }: Options = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      cwd: root,
      timeout: timeoutMs,
      maxBuffer: OUTPUT_MAX_BYTES,
      ...(env !== undefined && { env }),
    };
    execFile('docker', [...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const end = `${stdout}${stderr}`.trim().split('\n').slice(-COMPLAINT_LINES).join('\n');
      reject(new Error(`docker ${args.join(' ')}: ${end || error.message}`, { cause: error }));
    });
  });

/** The reason why this machine cannot run the compose tests; undefined if it can. */
export const whyNoCompose = async (): Promise<string | undefined> => {
  if (process.env['HOLDPOINT_TEST_BACKEND'] === 'local') return 'HOLDPOINT_TEST_BACKEND is local';
  try {
    await docker(['version', '--format', '{{.Server.Version}}'], { timeoutMs: 10_000 });
    await docker(['compose', 'version'], { timeoutMs: 10_000 });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
};

const environmentOf = (ports: Ports): NodeJS.ProcessEnv => ({
  ...process.env,
  HOLDPOINT_NATS_PORT: String(ports.nats),
  HOLDPOINT_ORCHESTRATOR_PORT: String(ports.orchestrator),
  HOLDPOINT_APPROVALS_PORT: String(ports.approvals),
  HOLDPOINT_EXECUTOR_PORT: String(ports.executor),
  HOLDPOINT_RECOVERY_PORT: String(ports.recovery),
  // Docker selects free ports.
  HOLDPOINT_ORCHESTRATOR_METRICS_PORT: '0',
  HOLDPOINT_APPROVALS_METRICS_PORT: '0',
  HOLDPOINT_EXECUTOR_METRICS_PORT: '0',
  HOLDPOINT_RECOVERY_METRICS_PORT: '0',
});

const everything = ['--remove-orphans', '--volumes', '--rmi', 'local', '--timeout', '1'];

const Projects = z.array(z.object({ Name: z.string() }));

/** Removes the projects of runs that were killed. */
const removeOrphans = async (): Promise<void> => {
  const projects = Projects.parse(JSON.parse(await docker(['compose', 'ls', '--all', '--format', 'json'])));
  const orphans = projects.filter(
    ({ Name }) => Name.startsWith(PREFIX) && !isAlive(Number(Name.slice(PREFIX.length))),
  );
  for (const { Name } of orphans) {
    await docker(['compose', '-f', MANIFEST, '-p', Name, 'down', ...everything]);
  }
};

/** The system of compose.yaml as a separate project on free ports. */
export const createComposeProject = async () => {
  await removeOrphans();
  const name = `${PREFIX}${String(process.pid)}`;
  const ports = await choosePorts();
  const env = environmentOf(ports);
  const compose = (
    args: readonly string[],
    { files = [], timeoutMs }: { readonly files?: readonly string[]; readonly timeoutMs?: number } = {},
  ): Promise<string> => {
    const named = [MANIFEST, ...files].flatMap((file) => ['-f', file]);
    return docker(['compose', '--ansi', 'never', ...named, '-p', name, ...args], {
      env,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  };
  /** Resolves when the service reports on its published port that it, PostgreSQL and the bus are ready. */
  const isReady = async (service: ServiceName): Promise<boolean> => {
    const response = await fetch(`http://127.0.0.1:${String(ports[service])}/readyz`, {
      signal: AbortSignal.timeout(5_000),
    });
    await response.body?.cancel();
    return response.ok;
  };
  return {
    name,
    ports,
    /** `files` are override files. */
    compose,
    isReady,
    /** Runs `holdpoint` like an operator. */
    cli: (...args: readonly string[]) => compose(['run', '--rm', '--no-TTY', 'cli', ...args]),
    run: (service: string, ...command: readonly string[]) =>
      compose(['exec', '--no-TTY', service, ...command]),
    kill: async (service: ServiceName): Promise<void> =>
      void (await docker(['kill', `${name}-${service}-1`])),
    /** Reads a property of the container from Docker with a template. */
    inspect: async (service: string, template: string): Promise<string> =>
      (await docker(['inspect', '--format', template, `${name}-${service}-1`])).trim(),
    up: () => compose(['up', '--detach', '--build', '--quiet-pull'], { timeoutMs: BUILD_WITHIN_MS }),
    remove: () => compose(['down', ...everything]),
  };
};
export type ComposeProject = Awaited<ReturnType<typeof createComposeProject>>;
