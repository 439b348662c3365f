import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Browser } from 'playwright-core';
import { buildPage, findChromium, startChromium, type Visitor, visit } from './browser.ts';
import type { ServiceInProcess } from '../stack/in-process.ts';
import { writePrincipals } from '../stack/principals.ts';
import { createSystem, type System } from '../stack/system.ts';

/** The browser for console tests; undefined without one, which is reported. */
export const chromium = findChromium(process.env);
if (chromium === undefined)
  process.stderr.write('console: nothing is tried, because there is no chromium (or HOLDPOINT_CHROMIUM)\n');

type Person = 'operator' | 'grace';

/** The console as operators use it: a real browser and the real services. */
export type Console = {
  readonly system: System;
  readonly services: ReadonlyMap<string, ServiceInProcess>;
  readonly url: string;
  /** A git repository that the executor may use. */
  readonly repository: string;
  readonly open: (hash: string, as?: Person, options?: Parameters<typeof visit>[3]) => Promise<Visitor>;
  /** Ends all visits. Throws if a browser complained in one of them. */
  readonly leave: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

const GIT_ENV = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
} as const;

const createRepository = (folder: string): string => {
  const repository = join(folder, 'repositories', 'app');
  mkdirSync(repository, { recursive: true });
  const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: repository, env: GIT_ENV });
  git('init', '--quiet', '--initial-branch=main');
  const ada = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  git(...ada, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  return repository;
};

export const startConsole = async (executable: string): Promise<Console> => {
  await buildPage();
  const system = await createSystem();
  let browser: Browser | undefined;
  const visitors: Visitor[] = [];
  const stop = async (): Promise<void> => {
    await browser?.close();
    await system.stop();
  };
  try {
    const token: Readonly<Record<Person, string>> = {
      operator: system.client.token,
      grace: 'grace-token-for-the-console',
    };
    const principals = await writePrincipals(system.folder, [
      { name: 'operator', groups: ['operators'], token: token.operator },
      { name: 'grace', groups: ['operators'], token: token.grace },
    ]);
    const repository = createRepository(system.folder);
    const env: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      approvals: { HOLDPOINT_PRINCIPALS_FILE: principals },
      executor: {
        HOLDPOINT_REPOSITORIES: join(system.folder, 'repositories'),
        HOLDPOINT_WORK: 'unconfined',
      },
    };
    const services = new Map(
      await Promise.all(
        SERVICES.map(async (name) => [name, await system.start(name, env[name] ?? {})] as const),
      ),
    );
    const url = `http://127.0.0.1:${String(services.get('approvals')?.httpPort ?? 0)}/`;
    const running = await startChromium(executable);
    browser = running;
    return {
      system,
      services,
      url,
      repository,
      open: async (hash, as = 'operator', options = {}) => {
        const visitor = await visit(running, url + hash, token[as], options);
        visitors.push(visitor);
        return visitor;
      },
      leave: async () => {
        const complaints = visitors.flatMap((visitor) => visitor.complaints);
        for (const { context } of visitors.splice(0)) await context.close();
        if (complaints.length > 0) throw new Error(`a browser complains: ${complaints.join('; ')}`);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};
