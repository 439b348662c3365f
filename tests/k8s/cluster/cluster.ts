import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createServer, connect as dial } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '@holdpoint/infra/local/folders';
import { messageOf, Problem } from '@holdpoint/infra/local/problem';

const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024;
const WITHIN_MS = 20 * 60_000;

/** Runs a command to its end. Throws its last lines. */
export const run = (
  command: string,
  args: readonly string[],
  { env, input }: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd: root, timeout: WITHIN_MS, maxBuffer: OUTPUT_MAX_BYTES, ...(env && { env }) };
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = stderr.trim().split('\n').slice(-8).join('\n');
      reject(
        new Problem(`${command} ${args.slice(0, 4).join(' ')}: ${said || error.message}`, { cause: error }),
      );
    });
    child.stdin?.end(input);
  });

/** A cluster that the test may use, and the commands for it. */
export type Cluster = {
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  readonly helm: (args: readonly string[]) => Promise<string>;
  /** Brings an image of the Docker engine to the nodes. */
  readonly load: (image: string) => Promise<void>;
  readonly forward: (target: string, port: number) => Promise<Forward>;
};

const answers = async (command: string, args: readonly string[]): Promise<string | undefined> => {
  try {
    await run(command, args);
    return undefined;
  } catch (error) {
    return `${command}: ${messageOf(error)}`;
  }
};

/** The cluster of HOLDPOINT_TEST_KUBECONFIG, or the reason why there is none. The own configuration of the user is never used. */
export const findCluster = async (env: NodeJS.ProcessEnv, namespace: string): Promise<Cluster | string> => {
  const { HOLDPOINT_TEST_KUBECONFIG: kubeconfig, HOLDPOINT_TEST_LOAD_IMAGE: loader } = env;
  if (kubeconfig === undefined || kubeconfig === '')
    return 'HOLDPOINT_TEST_KUBECONFIG names no cluster that the test may use';
  const inCluster = { ...env, KUBECONFIG: kubeconfig };
  const obstacle =
    (await answers('docker', ['version', '--format', '{{.Server.Version}}'])) ??
    (await answers('helm', ['version'])) ??
    (await answers('kubectl', ['--kubeconfig', kubeconfig, 'get', '--raw', '/readyz']));
  if (obstacle !== undefined) return obstacle;
  const kubectl: Cluster['kubectl'] = (args, input) =>
    run('kubectl', ['--namespace', namespace, ...args], {
      env: inCluster,
      ...(input !== undefined && { input }),
    });
  return {
    kubectl,
    helm: (args) => run('helm', ['--namespace', namespace, ...args], { env: inCluster }),
    load: async (image) => {
      const [command, ...args] = (loader ?? '').split(' ').filter((word) => word !== '');
      if (command !== undefined) await run(command, [...args, image], { env });
    },
    forward: (target, port) => forward(inCluster, namespace, target, port),
  };
};

export type Forward = { readonly port: number; readonly stop: () => void };

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1');
    socket.once('connect', () => resolve(socket.destroy() !== undefined)).once('error', () => resolve(false));
  });

const AGAIN_MS = 500;

/** A port-forward that is started again whenever its pod goes. */
const forward = async (
  env: NodeJS.ProcessEnv,
  namespace: string,
  target: string,
  to: number,
): Promise<Forward> => {
  const port = await freePort();
  let child: ChildProcess | undefined;
  let stopped = false;
  const keep = async (): Promise<void> => {
    while (!stopped) {
      const args = ['--namespace', namespace, 'port-forward', target, `${String(port)}:${String(to)}`];
      const started = spawn('kubectl', args, { env, stdio: 'ignore' });
      child = started;
      await new Promise((resolve) => started.once('close', resolve).once('error', resolve));
      if (!stopped) await sleep(AGAIN_MS);
    }
  };
  void keep();
  // A forward to a pod that was deleted by force may live on without a connection.
  const watch = setInterval(() => {
    void isOpen(port).then((open) => void (open || child?.kill()));
  }, 5_000);
  for (let tries = 0; !(await isOpen(port)); tries += 1) {
    if (tries > 120) throw new Problem(`no port-forward to ${target}`);
    await sleep(AGAIN_MS);
  }
  return {
    port,
    stop: () => {
      stopped = true;
      clearInterval(watch);
      child?.kill();
    },
  };
};
