import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { findNode, type Task } from './state.ts';

const WORD = /[A-Za-z_][A-Za-z0-9_-]*/g;

/** Only the nodes that the text names, so that the scope stays small in large graphs. */
const nodesNamedIn = (task: Task, text: string): JsonObject =>
  Object.fromEntries(
    [...text.matchAll(WORD)].flatMap(([word]): readonly [string, Json][] => {
      const state = findNode(task, word as NodeId);
      if (state === undefined) return [];
      const { status, outputs = {}, exitCode = null } = state;
      return [[word, { status, outputs, exit_code: exitCode }]];
    }),
  );

/** The scope of an expression, or of a text with expressions. */
export const expressionScope = (task: Task, text: string, more: JsonObject = {}): JsonObject => ({
  inputs: task.inputs,
  task: { id: task.id, goal: task.goal, requested_by: task.requestedBy },
  nodes: nodesNamedIn(task, text),
  ...more,
});
