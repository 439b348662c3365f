import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '@holdpoint/cli/program';
import { spellCommandLine } from '@holdpoint/cli/workflow/spell';
import { root } from '@holdpoint/infra/local/folders';
import type { Command } from 'commander';
import { z } from 'zod';
import { readSource } from '../../repo/source-tree.ts';
import { readLine } from './command-lines.ts';

const Manifest = z.object({ scripts: z.record(z.string(), z.string()) });

/** The arguments of `infra/bootstrap.mjs` in an npm script, such as `['infra/test.ts', 'check']`. */
export const fileOfScript = (script: string): string => {
  const { scripts } = Manifest.parse(JSON.parse(readSource('package.json')));
  const command = /^node infra\/bootstrap\.mjs (\S+)$/.exec(scripts[script] ?? '')?.[1] ?? '';
  const names = [command, `'${command}'`];
  const line = readSource('infra/bootstrap.mjs')
    .split('\n')
    .map((each) => /^ +([\w':]+): '([^' ]+)[^']*',$/.exec(each))
    .find((match) => names.includes(match?.[1] ?? ''));
  if (line?.[2] === undefined) throw new Error(`npm run ${script} leads nowhere`);
  return line[2];
};

const leaves = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);

const SAMPLES: Readonly<Record<string, string>> = {
  number: '1',
  token: 'k-0123456789',
  rule: 'u-0123456789',
  label: 'cap.file.append',
};

/** A value that the CLI accepts for a placeholder. */
const filled = (word: string): string =>
  word.replaceAll(/<([a-z]+)>/g, (_, name: string) => SAMPLES[name] ?? `${name}-1`);

/** Parses a documented `holdpoint` command with the real command tree, without running it. */
const parseHoldpoint = async (words: readonly string[]): Promise<string | undefined> => {
  const problems: string[] = [];
  const { program } = createProgram(
    {
      connect: () => Promise.reject(new Error('a parsed command does not run')),
      out: () => undefined,
      err: (text) => void problems.push(text),
      now: () => 0,
    },
    [],
  );
  let parsed = false;
  for (const leaf of leaves(program)) leaf.action(() => void (parsed = true));
  const args = words.map(filled);
  await program.parseAsync(spellCommandLine(args, program), { from: 'user' }).catch((error: unknown) => {
    problems.push(String(error));
  });
  // A sentence may name a command without its arguments.
  const isName =
    !words.some((word) => /[<=-]/.test(word)) &&
    /missing required argument|required option/.test(problems.join(' '));
  return parsed || isName ? undefined : problems.join(' ') || 'selects no command';
};

const exists = (path: string | undefined): string | undefined =>
  path === undefined || path.includes('<') || existsSync(join(root, path))
    ? undefined
    : `${path} does not exist`;

const after = (words: readonly string[], ...flags: readonly string[]): string | undefined =>
  words[words.findIndex((word) => flags.includes(word)) + 1];

/** Checks the project and the files of `npx vitest run --project <project> <files>`. */
const vitestProblem = ([tool, verb, ...rest]: readonly string[]): string | undefined => {
  if (tool !== 'vitest' || verb !== 'run') return `npx ${tool ?? ''} ${verb ?? ''} is unknown to this test`;
  const project = after(rest, '--project') ?? '';
  if (!readSource('vitest.config.ts').includes(`name: '${project}'`)) return `there is no project ${project}`;
  return rest
    .filter((word) => word.includes('/'))
    .map(exists)
    .find((problem) => problem !== undefined);
};

/** External commands: their arguments are not checked. */
const FOREIGN = new Set([
  'cd',
  'cp',
  'createdb',
  'curl',
  'dropdb',
  'export',
  'git',
  'ln',
  'mkdir',
  'nats',
  'nats-server',
  'openssl',
  'pg_dump',
  'pg_restore',
  'psql',
  'nk',
  'nsc',
  'cat',
  'sh',
  'kubectl',
  'docker',
  'pip',
  'claude',
  'createuser',
  'systemctl',
]);

/** The reason why a documented command is wrong; undefined when its command, options and files exist. */
export const shapeProblem = async (words: readonly string[]): Promise<string | undefined> => {
  const start = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  if (start < 0) return undefined;
  const [first = '', ...rest] = words.slice(start);
  switch (first) {
    case 'holdpoint':
    // The alias of a document for `holdpoint` in a container.
    case 'hp':
      return parseHoldpoint(rest);
    case 'alias':
      return shapeProblem(readLine(rest.join(' ').replace(/^hp=/, '')).words);
    case 'npm': {
      // The packages of an installation are tried in packages.e2e.test.ts.
      if (['start', 'test', 'install', 'publish'].includes(rest[0] ?? '')) return undefined;
      const name = rest.find((word) => !word.startsWith('-') && word !== 'run') ?? '';
      if (name === 'holdpoint') return parseHoldpoint(rest.slice(rest.indexOf('--') + 1));
      const { scripts } = Manifest.parse(JSON.parse(readSource('package.json')));
      return name in scripts ? undefined : `there is no npm script ${name}`;
    }
    case 'npx':
      return rest[0] === 'holdpoint' ? parseHoldpoint(rest.slice(1)) : vitestProblem(rest);
    case 'node':
      return exists(rest.find((word) => !word.startsWith('-')));
    case 'docker':
    case 'kubectl':
      return exists(
        rest.some((word) => word === '-f' || word === '-k') ? after(rest, '-f', '-k') : undefined,
      );
    case 'helm':
      return exists(rest.find((word) => word.includes('/')));
    default:
      return FOREIGN.has(first) ? undefined : `${first} is unknown to this test`;
  }
};
