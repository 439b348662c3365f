import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { expect } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { fileOfScript } from './shape.ts';
import type { Documented } from './command-lines.ts';
import { type Program, type Tools, type Typed, type } from './process.ts';

export type How = { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string };

/**
 * A reader of the documents who types the documented commands in a clone with a running stack. The reader
 * adds nothing: Ctrl-C stops the commands that do not end, and each question gets an answer.
 */
export type Reader = {
  readonly system: System;
  /** All documented commands. */
  readonly documented: readonly Documented[];
  /** Sets the value of a placeholder. */
  readonly fill: (placeholder: string, value: string) => void;
  readonly valueOf: (placeholder: string) => string;
  /** Types a command that runs until it is stopped. */
  readonly begin: (words: readonly string[], how?: How) => Typed;
  /** Types a command that must succeed, and returns its output. */
  readonly enter: (words: readonly string[], how?: How) => Promise<string>;
  readonly leave: () => Promise<void>;
};

/** Types a documented command and expects its documented effect. */
export type Effect = (reader: Reader, words: readonly string[]) => Promise<void>;

/** The task of the current document section. */
export const taskOf = ({ valueOf }: Reader): TaskId => TaskId.parse(valueOf('task'));

/** The port in the documents; a start prints another one if this port is taken. */
const ADDRESS = 'nats://127.0.0.1:4222';
const PLACEHOLDER = /<([A-Za-z]+)>/g;

/** The files of `npm start` for the command line: credentials and addresses. */
const furnish = async ({ folder, nats, run }: System): Promise<string> => {
  const clone = join(folder, 'clone');
  const credentials = join(clone, '.holdpoint', 'data', 'credentials');
  await cp(run.credentialsDir, credentials, { recursive: true });
  const files = layout(credentials);
  const running = {
    natsUrl: nats.url,
    natsSeedFile: files.natsSeed('operator'),
    tokenFile: files.operatorToken,
  };
  await writeFile(join(clone, '.holdpoint', 'data', 'running.json'), JSON.stringify(running));
  await mkdir(join(folder, 'home'));
  return clone;
};

/**
 * Passes as few variables of the test process as possible, because they would count as documented
 * settings.
 */
const environmentOf = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  LANG: process.env['LANG'],
  HOME: join(folder, 'home'),
  XDG_CONFIG_HOME: join(folder, 'home'),
});

export const createReader = async (documented: readonly Documented[], { nats }: Tools): Promise<Reader> => {
  const system = await createSystem();
  const begun: Typed[] = [];
  const leave = async (): Promise<void> => {
    for (const each of begun) each.kill();
    await system.stop();
  };
  try {
    const clone = await furnish(system);
    const values = new Map([
      ['PWD', clone],
      ['folder', join(system.folder, 'made')],
    ]);
    const services = await Promise.all(SERVICES.map((service) => system.spawn(service)));
    await Promise.all(services.map(({ started }) => started()));

    const valueOf = (placeholder: string): string => {
      const value = values.get(placeholder);
      if (value === undefined) throw new Error(`nothing so far says what <${placeholder}> is`);
      return value;
    };
    const filled = (words: readonly string[]): readonly string[] =>
      words.map((word) =>
        word.replaceAll(ADDRESS, system.nats.url).replaceAll(PLACEHOLDER, (_, name: string) => valueOf(name)),
      );

    const holdpoint = join(root, fileOfScript('holdpoint'));
    const programOf = (words: readonly string[], { env, cwd }: How = {}): Program => {
      const [name = '', ...args] = filled(words);
      const there = { cwd: cwd ?? clone, env: { ...environmentOf(system.folder), ...env } };
      switch (name) {
        case 'nats':
          if (nats === undefined) throw new Error('there is no nats command');
          return { ...there, command: nats, args };
        case 'node':
          return { ...there, cwd: root, command: process.execPath, args };
        case 'holdpoint':
          return { ...there, command: process.execPath, args: [holdpoint, ...args] };
        case 'npm':
          // This skips npm and the bootstrap, which would install the workspace, but passes their
          // arguments.
          expect(args.slice(0, 4)).toEqual(['run', '--silent', 'holdpoint', '--']);
          return { ...there, command: process.execPath, args: [holdpoint, ...args.slice(4)] };
        default:
          throw new Error(`no expectation runs the command ${name}`);
      }
    };

    const ended = async (command: Typed): Promise<string> => {
      begun.push(command);
      const code = await command.end();
      expect(code, command.printed()).toBe(0);
      return command.printed();
    };
    return {
      system,
      documented,
      fill: (placeholder, value) => void values.set(placeholder, value),
      valueOf,
      begin: (words, how) => {
        const command = type(programOf(words, how));
        begun.push(command);
        return command;
      },
      enter: (words, how) => ended(type(programOf(words, how))),
      leave,
    };
  } catch (error) {
    await leave();
    throw error;
  }
};
