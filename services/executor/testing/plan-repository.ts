import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import type { Environment } from '../src/adapters/process/command-env.ts';
import { createRepositories } from '../src/adapters/git/repositories.ts';
import { createProcessRecords } from '../src/adapters/process/process-records.ts';
import type { EffectContext } from '../src/ports/capability.ts';
import { createStages, type RunStage, type StageModule } from '../src/capabilities/stage/stage.ts';
import type { StageTools } from '../src/capabilities/stage/tools.ts';
import { contextFor } from './context.ts';
import { bareOrderFor, workOf } from './orders.ts';
import { scratchFolder } from './scratch.ts';

const execute = promisify(execFile);

export type StepChange = Partial<StepInput> & { readonly args?: JsonObject };

export type StepAs = {
  readonly task?: string;
  readonly node?: string;
  /** As an effect that was approved, instead of as work. */
  readonly effect?: boolean;
  readonly context?: Partial<EffectContext>;
};

const moduleOf = (stage: RunStage | StageModule): StageModule =>
  typeof stage === 'function' ? { uses: 'cap.test', run: stage } : stage;

/** A real repository with one commit on `main`, and steps that are carried out in it as the executor does it. */
export const planRepository = async (host: NodeJS.ProcessEnv) => {
  const scratch = await scratchFolder();
  const path = join(scratch.path, 'repository');
  const home = join(scratch.path, 'home');
  await Promise.all([mkdir(path), mkdir(home)]);
  const commandEnv: Environment = { PATH: host['PATH'] ?? '', HOME: home };
  const env: Environment = { ...commandEnv, GIT_CONFIG_NOSYSTEM: '1' };
  const git = async (...argv: readonly string[]): Promise<string> =>
    (await execute('git', argv, { cwd: path, env })).stdout.trimEnd();
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  };
  /** Commits files on a branch, in the checkout; a file without a text goes. */
  const commit = async (
    branch: string,
    files: Readonly<Record<string, string | undefined>>,
    message = `on ${branch}`,
  ): Promise<string> => {
    await git('checkout', '--quiet', '-B', branch, ...((await has(branch)) ? [branch] : []));
    for (const [file, text] of Object.entries(files)) {
      if (text === undefined) await rm(join(path, file));
      else await write(file, text);
    }
    await git('add', '--all', '--force', '--', ...Object.keys(files));
    await git('commit', '--quiet', '--message', message);
    return git('rev-parse', 'HEAD');
  };
  const has = async (ref: string): Promise<boolean> =>
    git('rev-parse', '--verify', '--quiet', ref).then(
      () => true,
      () => false,
    );
  await git('init', '--quiet', '--initial-branch=main');
  await git('config', 'user.name', 'Ada');
  await git('config', 'user.email', 'ada@example.org');
  await commit('main', { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n' }, 'begin');

  const stagesWith = (more: Environment) => {
    const all = { ...commandEnv, ...more };
    const records = createProcessRecords(join(scratch.path, 'state'));
    return createStages({ repositories: createRepositories([scratch.path], all), records, env: all });
  };
  const stages = stagesWith({});
  const inputFor = ({ args = {}, ...change }: StepChange): StepInput =>
    StepInput.parse({ with: args, repository: path, context: {}, ...change });
  const contextOf = ({
    task = 't-1',
    node = 'node',
    effect = false,
    context = {},
  }: StepAs): EffectContext => {
    const [taskId, nodeId] = [TaskId.parse(task), NodeId.parse(node)];
    const kind = effect ? ({ kind: 'merge', effectClass: 'fenced' } as const) : {};
    const order = bareOrderFor(workOf({ task: taskId, node: nodeId, idempotencyKey: node, ...kind }));
    return contextFor({ effectId: effectIdOf(taskId, nodeId, node), order, ...context });
  };
  return {
    path,
    home,
    outside: scratch.path,
    git,
    write,
    commit,
    has,
    read: (file: string): Promise<string> => readFile(join(path, file), 'utf8'),
    /** Runs a step and returns its result. */
    step: async (stage: RunStage | StageModule, change: StepChange, as: StepAs = {}): Promise<StepResult> => {
      const capability = stages.capability(moduleOf(stage));
      return StepResult.parse(await capability.run(inputFor(change), contextOf(as)));
    },
    /** The same with another environment. */
    using:
      (more: Environment) =>
      async (stage: RunStage | StageModule, change: StepChange): Promise<StepResult> => {
        const capability = stagesWith(more).capability(moduleOf(stage));
        return StepResult.parse(await capability.run(inputFor(change), contextOf({})));
      },
    /** The tools of a step, for other functions. */
    with: async <Result>(
      work: (tools: StageTools) => Promise<Result>,
      change: StepChange = {},
    ): Promise<Result> => {
      const results: Result[] = [];
      const capability = stages.capability(
        moduleOf(async (_input, tools) => {
          results.push(await work(tools));
          return { outcome: 'succeeded' };
        }),
      );
      await capability.run(inputFor(change), contextOf({}));
      if (results.length === 0) throw new Error('the work was not carried out');
      return results[0] as Result;
    },
    remove: scratch.remove,
  };
};

export type PlanRepository = Awaited<ReturnType<typeof planRepository>>;
