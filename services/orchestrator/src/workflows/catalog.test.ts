import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { type BuiltInWorkflow, builtIn, findWorkflow, workflowNames } from './catalog.ts';
import { sample } from './sample.ts';

const submission = (change: Partial<SubmitTask> = {}): SubmitTask => ({
  workflow: 'sample',
  goal: 'say hello',
  ...change,
});
const definedBy = (workflow: BuiltInWorkflow | undefined, asked: SubmitTask): WorkflowDefinition => {
  const made = workflow?.define(asked);
  if (made === undefined || 'problems' in made) throw new Error('it is not defined');
  return made;
};
const argumentsFor = (change: Partial<SubmitTask>) =>
  definedBy(sample, submission(change)).nodes.map(({ args }) => args);

/** Inputs for every built-in workflow. */
const inputs: Readonly<Record<string, SubmitTask['inputs']>> = {
  'http@1': { url: 'https://api.example/' },
  'effect@1': {
    capability: 'refund',
    args: {},
    key: 'refund:ch_1',
    kind: 'write_external',
    class: 'opaque',
    target: 'payments',
  },
  'undo@1': {
    effect: 'e-1',
    uses: 'cap.env.builtin.git.integrate_plan_branch.compensate',
    effectClass: 'fenced',
    args: {},
    outputs: {},
    target: 'branch:main',
  },
  'rollback@1': {
    task: 't-1',
    node: 'gate',
    attempt: 2,
    commit: 'a'.repeat(40),
    place: { worktree: '.holdpoint/worktrees/w', branch: 'draft/w' },
    undo: [
      {
        effect: 'e-1',
        uses: 'cap.file.write.compensate',
        effectClass: 'fenced',
        args: {},
        outputs: {},
        target: 'file:a',
      },
    ],
  },
};
const neededBy = (name: string): SubmitTask => {
  const given = inputs[name];
  return submission(given === undefined ? {} : { inputs: given });
};

describe('every built-in workflow', () => {
  test.each(workflowNames(builtIn))('%s is a valid definition', (name) => {
    const definition = definedBy(findWorkflow(builtIn, name), neededBy(name));
    expect(WorkflowDefinition.parse(definition)).toEqual(definition);
    expect(`${definition.id}@${definition.version}`).toBe(name);
  });

  test.each(workflowNames(builtIn))('%s has only existing dependencies and no cycle', (name) => {
    const nodes = definedBy(findWorkflow(builtIn, name), neededBy(name)).nodes;
    for (const [i, { after }] of nodes.entries()) {
      expect(nodes.slice(0, i).map(({ id }) => id)).toEqual(expect.arrayContaining(after));
    }
  });

  test.each(workflowNames(builtIn))('%s waits seven days for each decision', (name) => {
    const effects = definedBy(findWorkflow(builtIn, name), neededBy(name)).nodes.flatMap(
      ({ effect }) => effect ?? [],
    );
    expect(effects.length).toBeGreaterThan(0);
    // The job that needs a rollback handles its expiry, and so does the requester of a single effect.
    const endsOnExpiry = name === 'rollback@1' || name === 'effect@1' ? true : undefined;
    for (const effect of effects)
      expect({ approvalTimeoutMs: 604_800_000, endsOnExpiry }).toEqual({
        approvalTimeoutMs: effect.approvalTimeoutMs,
        endsOnExpiry: effect.endsOnExpiry,
      });
  });

  test.each(workflowNames(builtIn))('%s gives its effects the class of their capability', (name) => {
    const nodes = definedBy(findWorkflow(builtIn, name), neededBy(name)).nodes;
    const effects = nodes.flatMap(({ uses, effect }) =>
      effect === undefined ? [] : [[uses, effect.kind, effect.effectClass] as const],
    );
    // Only approvals knows the class of a registered capability.
    expect(effects).toEqual(
      effects.map(([uses, kind, given]) => [uses, kind, isRemote(uses) ? given : effectClassOf(uses, kind)]),
    );
  });
});

describe('the sample workflow', () => {
  test.each([
    [{}, { file: 'sample.txt', line: 'say hello' }],
    [{ inputs: { file: 'a.txt' } }, { file: 'a.txt', line: 'say hello' }],
    [{ inputs: { line: 'hi' } }, { file: 'sample.txt', line: 'hi' }],
    [{ inputs: { file: '', line: '' } }, { file: 'sample.txt', line: 'say hello' }],
    // The file takes one line.
    [{ goal: 'say hello\nto everybody' }, { file: 'sample.txt', line: 'say hello' }],
    [{ goal: 'say hello\r\nto everybody' }, { file: 'sample.txt', line: 'say hello' }],
  ])('the goal %j appends %j', (change, args) => {
    expect(argumentsFor(change)).toEqual([args, args, {}]);
  });

  test.each([
    [{ nosuch: 1 }, ['unknown input nosuch; known: file, line']],
    [{ file: 7, line: { a: 1 } }, ['input file: a text', 'input line: a text']],
  ])('the inputs %j are refused, each with its name', (given, problems) => {
    expect(sample.define(submission({ inputs: given }))).toEqual({ problems });
  });

  test('a repeated submission makes the same effect', () => {
    expect(sample.define(submission({ inputs: { file: 'a.txt' } }))).toEqual(
      sample.define(submission({ inputs: { file: 'a.txt' } })),
    );
  });
});
