import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { layout } from '@holdpoint/infra/credentials/layout';
import { initRepository } from '@holdpoint/workflows/files/init';
import { commandLine, type Output } from '../../kit/command-line.ts';
import type { Stack } from './stack.ts';

/** A git repository of one test, with a user in it. */
export type Repository = {
  readonly stack: Stack;
  readonly root: string;
  /** Runs `holdpoint` at the top of the repository. */
  readonly holdpoint: (...words: readonly string[]) => Promise<Output>;
  /** The same as a second person: under four eyes the requester does not decide. */
  readonly asApprover: (...words: readonly string[]) => Promise<Output>;
  /** Returns the output of git without the line end. */
  readonly git: (...words: readonly string[]) => string;
  readonly write: (file: string, text: string) => void;
  readonly read: (file: string) => string;
  readonly has: (file: string) => boolean;
  /** Writes files and commits them to the current branch. */
  readonly commit: (files: Readonly<Record<string, string>>, message: string) => void;
};

/** Hides the git configuration of the machine. */
const GIT_ENV = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
} as const;

/** A followed run has many steps, and each may be slow on a busy machine. */
const FOLLOWED_WITHIN_MS = 270_000;

let count = 0;

/** Creates a repository with one commit on `main`. */
export const createRepository = (stack: Stack, folder = stack.repositories): Repository => {
  count += 1;
  const root = join(folder, `r${String(count)}`);
  mkdirSync(root);
  const git: Repository['git'] = (...words) =>
    execFileSync('git', words, { cwd: root, env: GIT_ENV, encoding: 'utf8', stdio: 'pipe' }).trimEnd();
  const write: Repository['write'] = (file, text) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Ada');
  git('config', 'user.email', 'ada@example.com');
  const commit: Repository['commit'] = (files, message) => {
    for (const [file, text] of Object.entries(files)) {
      write(file, text);
      git('add', '--', file);
    }
    git('commit', '--quiet', '--message', message);
  };
  commit({ 'README.md': '# A project\n' }, 'first');
  return {
    stack,
    root,
    holdpoint: commandLine({ ...stack.system, folder: root }, FOLLOWED_WITHIN_MS),
    asApprover: commandLine({ ...stack.system, folder: root }, FOLLOWED_WITHIN_MS, {
      HOLDPOINT_TOKEN_FILE: layout(stack.system.run.credentialsDir).approverToken,
    }),
    git,
    write,
    read: (file) => readFileSync(join(root, file), 'utf8'),
    has: (file) => existsSync(join(root, file)),
    commit,
  };
};

let agents = 0;

/**
 * An agent that stores its prompt and then runs a script where its task works. `prompts` has one file per
 * attempt.
 */
export const scriptAgent = (
  { stack }: Repository,
  script: string,
): { readonly argv: readonly string[]; readonly prompts: () => readonly string[] } => {
  agents += 1;
  const folder = join(stack.system.folder, `agent-${String(agents)}`);
  mkdirSync(folder);
  const program = join(folder, 'agent.sh');
  const lines = [
    `n=0; while [ -e '${folder}'/prompt-$n ]; do n=$((n+1)); done`,
    `cat > '${folder}'/prompt-$n`,
    script,
  ];
  writeFileSync(program, `${lines.join('\n')}\n`);
  const promptsFrom = (n: number): readonly string[] => {
    const file = join(folder, `prompt-${String(n)}`);
    return existsSync(file) ? [readFileSync(file, 'utf8'), ...promptsFrom(n + 1)] : [];
  };
  return { argv: ['sh', program], prompts: () => promptsFrom(0) };
};

/** The script of an agent without work. */
export const REPLY = 'echo "a fixed reply"';

/** The script of an agent that plans if there is no plan, and otherwise implements it. */
export const PLAN_OR_WORK = `if [ -d .holdpoint/plans ]; then echo greeting > greeting.txt; fi
echo "the plan of a fixed reply"`;

/** Gives a repository the shipped workflows and an agent that runs a script. */
export const giveFlows = (repository: Repository, script = REPLY): ReturnType<typeof scriptAgent> => {
  initRepository(repository.root, { check: false });
  const agent = scriptAgent(repository, script);
  const config = `${repository.read('.holdpoint/config.toml')}\n[agents.default]\nagent.command = ${JSON.stringify(agent.argv)}\n`;
  repository.write('.holdpoint/config.toml', config);
  repository.git('add', '--', '.holdpoint');
  repository.git('commit', '--quiet', '--message', 'flows');
  return agent;
};
