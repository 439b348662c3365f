import type { NodeId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Deployment } from '../deployment/deployment.ts';
import type { Target } from './target.ts';

const FILE = 'torture.txt';

/** Lines of a file, each with its key. */
export const createFileTarget = ({ readWorkspace }: Pick<Deployment, 'readWorkspace'>): Target => ({
  node: 'append' as NodeId,
  idempotencyKey: `append:${FILE}`,
  submission: ({ id }) => ({
    id,
    workflow: 'sample',
    goal: `append the line of ${id}`,
    inputs: { file: FILE, line: `line of ${id}` },
  }),
  release: () => Promise.resolve(),
  applications: async () => {
    const text = await readWorkspace(FILE);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [key = '', content = ''] = line.split('\t');
        return { key, digest: sha256Of(content) };
      });
  },
  expectedDigest: ({ id }) => sha256Of(`line of ${id}`),
  stop: () => Promise.resolve(),
});
