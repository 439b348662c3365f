import { mkdir } from 'node:fs/promises';
import { root } from '@holdpoint/infra/local/folders';
import { type CounterTarget, startCounterTarget } from '../workload/counter-target.ts';
import { bookFolderIn, repositoriesIn } from '../workload/scratch-repository.ts';
import type { Deployment } from './deployment.ts';
import { type LocalOptions, startLocal } from './local.ts';

export type Counted = { readonly deployment: Deployment; readonly target: CounterTarget };

export const startCountedLocal = async (
  folder: string,
  seed: string,
  around: Pick<LocalOptions, 'env' | 'progress' | 'workers' | 'form' | 'replicas'>,
): Promise<Counted> => {
  let target: CounterTarget | undefined;
  const deployment = await startLocal({
    root,
    folder,
    ...around,
    beforeServices: async ({ register, undo }) => {
      target = await startCounterTarget(folder, seed);
      undo.add(target.stop);
      await register('counter', target.pid);
      await mkdir(bookFolderIn(folder));
      return {
        HOLDPOINT_HTTP_TARGETS: target.origin,
        HOLDPOINT_HTTP_KEYED_TARGETS: target.origin,
        HOLDPOINT_REPOSITORIES: repositoriesIn(folder),
        HOLDPOINT_WORK_FOLDERS: bookFolderIn(folder),
      };
    },
  });
  if (target === undefined) throw new Error('the counter did not start');
  return { deployment, target };
};
