import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { membersOf } from '../operations/callable.ts';
import { evaluate } from './evaluate.ts';
import { fail, withExpression } from '../operations/expression-error.ts';
import { RESULT_MAX, type Meter } from '../operations/meter.ts';
import type { Body, Statement, SourceExpression } from '../template/tree.ts';
import { isList, isTrue, sizeOf, textOf, type List, type Value } from '../operations/values.ts';

/** Names can be set again; values never change in place. */
type Scope = { [name: string]: Json };

type Rendering = {
  readonly meter: Meter;
  /** Maximum length of the rendered text. */
  readonly max: number;
};

/** Deeper values would overflow the stack of recursive readers. */
const LEVELS_MAX = 64;

const checkLevels = (value: Value, left: number): void => {
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) fail(`gives more than ${String(LEVELS_MAX)} levels`);
  for (const inner of Object.values<Json>(value)) checkLevels(inner, left - 1);
};

/** Creates an own property even for names such as `__proto__`; an assignment would not. */
const define = (scope: Scope, name: string, value: Json): void => {
  Object.defineProperty(scope, name, { value, enumerable: true, writable: true, configurable: true });
};

const valueOf = ({ text, tree }: SourceExpression, scope: JsonObject, { meter }: Rendering): Value =>
  withExpression(text, () => evaluate(tree, scope, meter));

const holds = (condition: SourceExpression, scope: JsonObject, rendering: Rendering): boolean =>
  isTrue(valueOf(condition, scope, rendering), rendering.meter);

const keep = (scope: Scope, name: string, of: SourceExpression, rendering: Rendering): void => {
  const value = valueOf(of, scope, rendering);
  withExpression(of.text, () => {
    const size = sizeOf(value, rendering.meter);
    if (size > RESULT_MAX) fail(`gives more than ${String(RESULT_MAX)} characters or members`);
    checkLevels(value, LEVELS_MAX);
  });
  define(scope, name, value ?? null);
};

type Loop = Extract<Statement, { kind: 'for' }>;

/** A scope for one member of the loop, in which the loop names stand for it or its parts. */
const scopeFor = (scope: Scope, { names, of }: Loop, member: Json, { meter }: Rendering): Scope => {
  const inner: Scope = { ...scope };
  meter.work(Object.keys(inner).length * 8);
  const [name] = names;
  if (names.length === 1 && name !== undefined) define(inner, name, member);
  else if (isList(member) && member.length === names.length)
    for (const [at, part] of names.entries()) define(inner, part, member[at] ?? null);
  else withExpression(of.text, () => fail(`has no members of ${String(names.length)} parts each`));
  return inner;
};

const membersFor = (loop: Loop, scope: Scope, rendering: Rendering): List => {
  const value = valueOf(loop.of, scope, rendering);
  if (value === undefined || value === null) return [];
  const { only } = loop;
  const members = withExpression(loop.of.text, () => membersOf(value, rendering.meter));
  if (only === undefined) return members;
  return members.filter((member) => holds(only, scopeFor(scope, loop, member, rendering), rendering));
};

const repeat = (loop: Loop, scope: Scope, rendering: Rendering): string => {
  const members = membersFor(loop, scope, rendering);
  const { length } = members;
  if (length === 0) return renderBody(loop.otherwise ?? [], scope, rendering);
  let text = '';
  for (const [at, member] of members.entries()) {
    const inner = scopeFor(scope, loop, member, rendering);
    define(inner, 'loop', {
      index: at + 1,
      index0: at,
      first: at === 0,
      last: at + 1 === length,
      length,
    });
    text += renderBody(loop.body, inner, rendering);
    if (text.length > rendering.max) tooLong(rendering);
  }
  return text;
};

const tooLong = ({ max }: Rendering): never => fail(`the text exceeds ${String(max)} characters`);

const render = (statement: Statement, scope: Scope, rendering: Rendering): string => {
  const { meter } = rendering;
  meter.work(1);
  switch (statement.kind) {
    case 'text':
      return statement.text;
    case 'output':
      return withExpression(statement.of.text, () => {
        const value = evaluate(statement.of.tree, scope, meter);
        return value === undefined || value === null ? '' : textOf(value, meter);
      });
    case 'set':
      keep(scope, statement.name, statement.value, rendering);
      return '';
    case 'capture':
      define(scope, statement.name, renderBody(statement.body, scope, rendering));
      return '';
    case 'if': {
      const branch = statement.branches.find(({ when }) => holds(when, scope, rendering));
      return renderBody(branch?.body ?? statement.otherwise ?? [], scope, rendering);
    }
    case 'for':
      return repeat(statement, scope, rendering);
  }
};

const renderBody = (body: Body, scope: Scope, rendering: Rendering): string => {
  let text = '';
  for (const statement of body) {
    text += render(statement, scope, rendering);
    if (text.length > rendering.max) tooLong(rendering);
  }
  return text;
};

/** Renders a template. The scope stays unchanged. */
export const renderTree = (body: Body, scope: JsonObject, rendering: Rendering): string => {
  const text = renderBody(body, { ...scope }, rendering);
  sizeOf(text, rendering.meter);
  return text;
};
