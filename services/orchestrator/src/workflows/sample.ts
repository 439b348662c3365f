import type { NodeId } from '@holdpoint/contracts/values/ids';
import { SampleInputs, sampleProblems } from '@holdpoint/contracts/task/built-in-inputs';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { BuiltInWorkflow } from './catalog.ts';

const node = (id: string): NodeId => id as NodeId;
const LINE_MAX = 1_000;

/** One line of text. A goal of two lines would otherwise fail after its approval. */
const firstLine = (goal: string): string =>
  /^[^\r\n\0]*/.exec(goal)?.[0].slice(0, LINE_MAX).toWellFormed() ?? '';

/**
 * One gated effect: appends a line to a file in the executor's workspace. Inputs: `file`, `line` (default:
 * the goal's first line).
 */
export const sample: BuiltInWorkflow = {
  id: 'sample',
  version: '1',
  offer: {
    title: 'Append a line to a file after approval',
    repository: 'unused',
    inputs: [
      {
        type: 'text',
        name: 'file',
        label: 'File',
        help: 'relative path in the workspace of the executor',
        required: false,
        default: 'sample.txt',
      },
      {
        type: 'text',
        name: 'line',
        label: 'Line',
        help: 'default: the first line of the goal',
        required: false,
        maxLength: LINE_MAX,
      },
    ],
  },
  define: ({ goal, inputs = {} }) => {
    const problems = sampleProblems(inputs);
    if (problems.length > 0) return { problems };
    const given = SampleInputs.parse(inputs);
    const file = given.file || 'sample.txt';
    const line = given.line || firstLine(goal);
    return {
      id: 'sample',
      version: '1',
      nodes: [
        { id: node('prepare'), uses: 'control.prepare', after: [], args: { file, line } },
        {
          id: node('append'),
          uses: 'cap.file.append',
          after: [node('prepare')],
          args: { file, line },
          effect: {
            kind: 'write_external',
            effectClass: 'keyed',
            idempotencyKey: `append:${file}`,
            target: `file:${file}`,
            pool: DEFAULT_POOL,
            audience: ['operators'],
            approvalTimeoutMs: DECISION_MS,
          },
        },
        { id: node('done'), uses: 'control.terminal', after: [node('append')], args: {} },
      ],
    };
  },
};
