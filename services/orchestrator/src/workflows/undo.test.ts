import type { JsonObject } from '@holdpoint/contracts/values/json';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { textsOf } from '@holdpoint/workflows/definition/node-texts';
import { describe, expect, test } from 'vitest';
import { undo } from './undo.ts';

const define = (inputs?: JsonObject) =>
  undo.define({ workflow: 'undo', goal: 'take back', ...(inputs && { inputs }) });
const inputs = {
  effect: 'e-1',
  uses: 'cap.env.shell.command.run.compensate',
  effectClass: 'opaque',
  args: { with: { command: "docker ps --format '{{.Names}}'", compensate: 'docker start live' } },
  outputs: { outcome: 'succeeded' },
  target: 'staging',
};

describe('the undo workflow', () => {
  test('an undo is one effect of kind destructive_edit', () => {
    const definition = WorkflowDefinition.parse(define(inputs));
    expect(definitionProblems(definition)).toEqual([]);
    expect(definition.nodes[1]).toMatchObject({
      uses: inputs.uses,
      args: { effect: 'e-1', args: inputs.args, outputs: inputs.outputs },
      effect: {
        kind: 'destructive_edit',
        effectClass: 'opaque',
        idempotencyKey: 'undo:e-1',
        pool: 'default',
      },
    });
    expect(WorkflowDefinition.parse(define({ ...inputs, pool: 'gpu' })).nodes[1]?.effect?.pool).toBe('gpu');
  });

  test('an undo may use a custom capability', () => {
    const own = { ...inputs, uses: 'cap.custom.set_flag.compensate' };
    expect(definitionProblems(WorkflowDefinition.parse(define(own)))).toEqual([]);
  });

  test('an undo keeps its arguments: expressions in them are not evaluated', () => {
    const definition = WorkflowDefinition.parse(define(inputs));
    expect(definition.nodes.flatMap((node) => textsOf(node))).toEqual([]);
  });
});

test.each([
  ['nothing', undefined, 'inputs.effect'],
  ['an effect that is no id', { ...inputs, effect: '../e' }, 'inputs.effect'],
  ['something that takes nothing back', { ...inputs, uses: 'cap.http.request' }, 'inputs.uses'],
  [
    'a script without a script that undoes it',
    { ...inputs, args: { with: { command: 'true' } } },
    'inputs.args.with.compensate: expected a script that undoes the effect',
  ],
  ['more than it has a use for', { ...inputs, also: 1 }, 'inputs'],
])('%s is refused, with its path', (_, given, where) => {
  const made = define(given);
  expect('problems' in made ? made.problems.join() : '').toContain(where);
});
