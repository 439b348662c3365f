import { EffectId, NodeId } from '@holdpoint/contracts/ids';
import { digestOf } from '@holdpoint/contracts/json';
import type { TaskEvent } from '@holdpoint/contracts/task';
import type { NodeDefinition } from '@holdpoint/contracts/workflow';
import { taskDecider } from '../domain/decide.ts';
import { TASK } from './tasks.ts';

const id = (name: string): NodeId => NodeId.parse(name);
const effect = (name: string, ...after: readonly string[]): NodeDefinition => ({
  id: id(name),
  uses: 'cap.file.append',
  after: after.map(id),
  args: { file: `${name}.txt`, line: name },
  effect: {
    kind: 'write_external',
    effectClass: 'keyed',
    idempotencyKey: name,
    target: `file:${name}.txt`,
    pool: 'default',
    audience: ['operators'],
    approvalTimeoutMs: 60_000,
  },
});

export const EFFECT_NODES = ['left', 'right', 'last'].map(id);

/** Two effects side by side, one after both: what the sample workflow has not, and others will. */
const submitted: TaskEvent = {
  type: 'submitted',
  id: TASK,
  phase: 'queued',
  goal: 'all of it',
  acceptanceCriteria: [],
  inputs: {},
  requestedBy: 'linus',
  contentDigest: digestOf('all of it'),
  definition: {
    id: 'parallel',
    version: '1',
    nodes: [
      effect('left'),
      effect('right'),
      effect('last', 'left', 'right'),
      { id: id('done'), uses: 'control.terminal', after: [id('last')], args: {} },
    ],
  },
};

const start: readonly TaskEvent[] = [
  submitted,
  { type: 'readied', id: TASK, phase: 'execution_ready' },
  { type: 'paused', id: TASK, phase: 'paused', by: 'ada', reason: 'not yet' },
];

/** The task decider on a task of that workflow, which is paused before its first step. */
export const parallelDecider: typeof taskDecider = {
  ...taskDecider,
  initial: start.reduce((state, event) => taskDecider.evolve(state, event), taskDecider.initial),
};

export const OTHER_EFFECT = EffectId.parse('e-other');
