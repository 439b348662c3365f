import { EffectId, NodeId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Gate, Suggestion } from '@holdpoint/contracts/workflow/gate';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { taskDecider } from '../src/task/decide.ts';
import { template } from './graphs.ts';
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

type Submitted = Extract<TaskEvent, { type: 'submitted' }>;

/** Two parallel effects and one after both, beyond the sample workflow. */
const submitted = (...nodes: readonly NodeDefinition[]): Submitted => ({
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
    nodes: [...nodes, { id: id('done'), uses: 'control.terminal', after: [id('last')], args: {} }],
  },
});

/** The task decider on a task that is paused before its first step. */
const pausedAt = (begun: Submitted): typeof taskDecider => {
  const start: readonly TaskEvent[] = [
    begun,
    { type: 'ready', id: TASK, phase: 'execution_ready' },
    { type: 'paused', id: TASK, phase: 'paused', by: 'ada', reason: 'not yet' },
  ];
  return {
    ...taskDecider,
    initial: start.reduce((state, event) => taskDecider.evolve(state, event), taskDecider.initial),
  };
};

export const parallelDecider = pausedAt(
  submitted(effect('left'), effect('right'), effect('last', 'left', 'right')),
);

const returned = (change: Partial<Suggestion>): Suggestion => ({ emit: 'return_to_orchestrator', ...change });
const gated = (change: Partial<Gate>, name: string, ...after: readonly string[]): NodeDefinition => {
  const plain = effect(name, ...after);
  return plain.effect ? { ...plain, effect: { ...plain.effect, gate: template(change) } } : plain;
};

/** The same with gates that choose another route: back, recovery, a person, an earlier result. */
export const gatedDecider = pausedAt(
  submitted(
    gated(
      {
        loadContext: ['attempts', 'checkpoints'],
        request: { body: '{{ attempts | length }}', onOpen: [{ checkpoint: 'asked' }] },
        onDecision: {
          approve: { emit: 'skip_duplicate_effect' },
          reject: returned({ phase: 'recovering' }),
          request_changes: returned({ to: id('left') }),
        },
        recovery: { onWorkerCrash: returned({ phase: 'paused' }) },
      },
      'left',
    ),
    gated(
      {
        onDecision: { approve: returned({ phase: 'paused' }), expire: returned({ phase: 'paused' }) },
        recovery: { onWorkerCrash: { emit: 'resume_executor' } },
      },
      'right',
    ),
    gated(
      {
        onDecision: { reject: returned({ to: id('right') }), request_changes: returned({ to: id('left') }) },
        resumePolicy: 'branches',
        resumeBranches: [{ when: 'decision.comment == "!"', emit: 'ask_orchestrator_for_resume_decision' }],
      },
      'last',
      'left',
      'right',
    ),
  ),
);

export const OTHER_EFFECT = EffectId.parse('e-other');
