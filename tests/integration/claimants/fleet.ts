import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { System } from '../../kit/stack/system.ts';
import { Hopeless, until } from '../../kit/until.ts';
import { type FaultProxy, startFaultProxy } from '../../torture/fault-proxy.ts';

/** Far longer than a beat of a busy machine takes. */
const LEASE_MS = 6_000;

export type Language = 'TypeScript' | 'Python';
export type Carriage = 'HTTP' | 'NATS';

/** A process of a claimant. */
export type ClaimantProcess = {
  /** From now on effects halt at the point that their arguments name, until `go`. */
  readonly tell: (what: 'halt' | 'go') => void;
  /** Resolves once the starts of all these keys halt in it. */
  readonly halted: (keys: readonly string[]) => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** It claims nothing more, and ends. */
  readonly leave: () => Promise<void>;
  readonly kill: () => Promise<void>;
};

/** Simultaneous runs of a claimant. While all of them halt, it asks for no more. */
const CONCURRENCY = 12;

/** Claimants of one language over one transport: their capabilities are their own. */
export type Fleet = {
  readonly name: string;
  /** Between the first claimant and the services. */
  readonly proxy: FaultProxy;
  /** Starts a claimant. One with the same number has the same seat. */
  readonly start: (number: number) => Promise<ClaimantProcess>;
  readonly stop: () => Promise<void>;
};

type Parts = {
  readonly system: System;
  readonly httpPort: number;
  readonly target: string;
  readonly python: string | undefined;
};

const startProcess = async (
  command: string,
  file: string,
  env: NodeJS.ProcessEnv,
): Promise<ClaimantProcess> => {
  const child: ChildProcess = spawn(command, [file], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout?.on('data', (text: Buffer) => (out += String(text)));
  child.stderr?.on('data', (text: Buffer) => (err += String(text)));
  // It may be dead when it is told to go on.
  child.stdin?.on('error', () => undefined);
  const closed = once(child, 'close');
  const printed = async (lines: readonly string[]): Promise<void> => {
    await until(`a claimant prints ${lines.join(', ')}`, () => {
      const said = new Set(out.split('\n'));
      if (lines.every((line) => said.has(line))) return true;
      const text = `it printed: ${out}${err}`;
      throw child.exitCode === null && child.signalCode === null ? new Error(text) : new Hopeless(text);
    });
  };
  await printed(['ready']);
  return {
    halted: (keys) => printed(keys.map((key) => `halted ${key}`)),
    tell: (what) => void child.stdin?.write(`${what}\n`),
    signal: (signal) => void child.kill(signal),
    leave: async () => {
      child.stdin?.end();
      await closed;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
};

export const createFleet = async (
  language: Language,
  carriage: Carriage,
  { system, httpPort, target, python }: Parts,
): Promise<Fleet> => {
  const name = `${language === 'Python' ? 'py' : 'ts'}_${carriage.toLowerCase()}`;
  const nats = new URL(system.nats.url);
  const { credentialsDir } = system.run;
  const proxy = await (carriage === 'HTTP'
    ? startFaultProxy('127.0.0.1', httpPort)
    : startFaultProxy(nats.hostname, Number(nats.port)));
  const running = new Set<ClaimantProcess>();

  const start: Fleet['start'] = async (number) => {
    const seat = join(system.folder, `seat-${name}-${String(number)}`);
    await mkdir(seat, { recursive: true });
    const port = number === 1 ? proxy.port : carriage === 'HTTP' ? httpPort : Number(nats.port);
    const env = {
      PATH: process.env['PATH'],
      HOLDPOINT_URL: `http://127.0.0.1:${String(carriage === 'HTTP' ? port : httpPort)}`,
      HOLDPOINT_TOKEN_FILE: layout(credentialsDir).operatorToken,
      CLAIMANT_NAME: name,
      CLAIMANT_TARGET: target,
      CLAIMANT_LEASE_MS: String(LEASE_MS),
      CLAIMANT_CONCURRENCY: String(CONCURRENCY),
      CLAIMANT_SEAT: seat,
      CLAIMANT_CREDENTIALS: credentialsDir,
      ...(carriage === 'NATS' && {
        CLAIMANT_NATS_URL: `nats://${number === 1 ? proxy.host : nats.hostname}:${String(port)}`,
        CLAIMANT_NATS_SEED: layout(credentialsDir).natsSeed('worker'),
      }),
    };
    const programs = join(import.meta.dirname, 'programs');
    const started =
      language === 'Python'
        ? await startProcess(python ?? '', join(programs, 'claimant.py'), env)
        : await startProcess(process.execPath, join(programs, 'claimant.ts'), env);
    const claimant = {
      ...started,
      kill: async () => {
        running.delete(claimant);
        await started.kill();
      },
    };
    running.add(claimant);
    return claimant;
  };

  return {
    name,
    proxy,
    start,
    stop: async () => {
      await Promise.all([...running].map(({ kill }) => kill()));
      await proxy.close();
    },
  };
};
