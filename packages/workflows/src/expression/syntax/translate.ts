import type { Callables } from '../operations/callable.ts';
import { fail, failUnknown, quoted } from '../operations/expression-error.ts';
import { FILTERS } from '../operations/filters.ts';
import { METHODS } from '../operations/methods.ts';
import { TESTS } from '../operations/tests.ts';
import type { BinaryOperator } from '../operations/operators.ts';
import type { Expression } from './tree.ts';

/** A node of the library's tree. Only its type is trusted. */
type Node = { readonly type: string; readonly [key: string]: unknown };

/** The maximum depth of an evaluation. */
const DEPTH_MAX = 128;

const OPERATORS: ReadonlySet<string> = new Set<BinaryOperator>([
  ...(['+', '-', '*', '/', '//', '%', '**', '~'] as const),
  ...(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'] as const),
]);
const isOperator = (value: string): value is BinaryOperator => OPERATORS.has(value);

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ...['true', 'True'].map((name) => [name, true] as const),
  ...['false', 'False'].map((name) => [name, false] as const),
  ...['none', 'None'].map((name) => [name, null] as const),
]);
const WORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else', 'for']);

/** Whether a name is a keyword or a constant. */
export const isWord = (name: string): boolean => CONSTANTS.has(name) || WORDS.has(name);

/** Unsupported node types and their messages. */
const REFUSED: Readonly<Record<string, string>> = {
  CallExpression: 'functions cannot be called, only filters (value | filter) and methods of values',
  SpreadExpression: 'arguments cannot be unpacked',
  KeywordSpreadExpression: 'arguments cannot be unpacked',
  KeywordArgumentExpression: 'named arguments belong into a call',
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
const nodeOf = (value: unknown): Node => (isNode(value) ? value : fail('does not parse: a part is missing'));
const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : fail('does not parse');
const textOf = (value: unknown): string => (typeof value === 'string' ? value : fail('does not parse'));
const operatorOf = (node: Node): string => textOf(nodeOf(node['operator'])['value']);

const literal = ({ value }: Node): Expression => {
  if (typeof value === 'string') return { kind: 'value', value };
  return typeof value === 'number' && Number.isFinite(value)
    ? { kind: 'value', value }
    : fail('does not parse: a number that is too large');
};

const nameOf = (node: Node): Expression => {
  const name = textOf(node['value']);
  const constant = CONSTANTS.get(name);
  if (constant !== undefined) return { kind: 'value', value: constant };
  return WORDS.has(name) ? fail(`does not parse: ${quoted(name)} is not a value`) : { kind: 'name', name };
};

/** Puts the arguments of a call into parameter order. */
const argumentsOf = (
  name: string,
  params: readonly string[],
  given: readonly unknown[],
  depth: number,
): (Expression | undefined)[] => {
  const args: (Expression | undefined)[] = params.map(() => undefined);
  for (const [at, one] of given.entries()) {
    const node = nodeOf(one);
    const named = node.type === 'KeywordArgumentExpression';
    const index = named ? params.indexOf(textOf(nodeOf(node['key'])['value'])) : at;
    if (index < 0 || index >= params.length) {
      return fail(
        `${quoted(name)} takes ${params.length === 0 ? 'no arguments' : `only ${params.join(', ')}`}`,
      );
    }
    if (args[index] !== undefined) return fail(`${quoted(name)} gets ${String(params[index])} twice`);
    args[index] = translate(named ? node['value'] : node, depth);
  }
  return args;
};

const call = (
  kind: 'filter' | 'method',
  [name, known]: readonly [string, Callables],
  of: Expression,
  [given, depth]: readonly [readonly unknown[], number],
): Expression => {
  const { params } = known.get(name) ?? failUnknown(kind, name, known.keys());
  return { kind, name, of, args: argumentsOf(name, params, given, depth) };
};

const filter = (node: Node, of: Expression, depth: number): Expression => {
  const by = nodeOf(node['filter']);
  if (by.type === 'Identifier') return call('filter', [textOf(by['value']), FILTERS], of, [[], depth]);
  if (by.type !== 'CallExpression')
    return fail('put a filter in parentheses before you take a member of its result');
  const name = nodeOf(by['callee']);
  if (name.type !== 'Identifier') return fail('does not parse: a filter has a name');
  return call('filter', [textOf(name['value']), FILTERS], of, [listOf(by['args']), depth]);
};

const method = (node: Node, depth: number): Expression => {
  const callee = nodeOf(node['callee']);
  const property = callee.type === 'MemberExpression' ? nodeOf(callee['property']) : callee;
  if (callee.type !== 'MemberExpression' || callee['computed'] === true || property.type !== 'Identifier') {
    return fail(REFUSED['CallExpression'] ?? '');
  }
  const of = translate(callee['object'], depth);
  return call('method', [textOf(property['value']), METHODS], of, [listOf(node['args']), depth]);
};

const member = (node: Node, depth: number): Expression => {
  const of = translate(node['object'], depth);
  const property = nodeOf(node['property']);
  if (property.type === 'SliceExpression') {
    const bound = (name: string): Expression | undefined =>
      property[name] === undefined ? undefined : translate(property[name], depth);
    return { kind: 'slice', of, start: bound('start'), stop: bound('stop'), step: bound('step') };
  }
  // After a dot, a name is plain text: `true` is not a constant there.
  const named = node['computed'] !== true && property.type === 'Identifier';
  return { kind: 'member', of, key: named ? literal(property) : translate(property, depth) };
};

const unary = (node: Node, depth: number): Expression => {
  const of = translate(node['argument'], depth);
  const operator = operatorOf(node);
  return operator === 'not' ? { kind: 'not', of } : { kind: 'sign', minus: operator === '-', of };
};

const binary = (node: Node, depth: number): Expression => {
  const left = translate(node['left'], depth);
  const right = translate(node['right'], depth);
  const operator = operatorOf(node);
  if (operator === 'and' || operator === 'or') return { kind: operator, left, right };
  return isOperator(operator)
    ? { kind: 'binary', operator, left, right }
    : fail(`there is no operator ${quoted(operator)}`);
};

const test = (node: Node, depth: number): Expression => {
  const name = textOf(nodeOf(node['test'])['value']);
  if (!TESTS.has(name)) return failUnknown('test', name, TESTS.keys());
  return { kind: 'test', name, of: translate(node['operand'], depth), negated: node['negate'] === true };
};

const entries = (value: unknown, depth: number): (readonly [Expression, Expression])[] =>
  value instanceof Map
    ? [...value].map(
        ([key, one]: [unknown, unknown]) => [translate(key, depth), translate(one, depth)] as const,
      )
    : fail('does not parse');

/** Translates the library's tree. Unlisted node types are refused, including those of later versions. */
export const translate = (foreign: unknown, above = 0): Expression => {
  const depth = above + 1;
  if (depth > DEPTH_MAX) return fail(`is more than ${String(DEPTH_MAX)} levels deep`);
  const node = nodeOf(foreign);
  const part = (name: string): Expression => translate(node[name], depth);
  switch (node.type) {
    case 'StringLiteral':
    case 'IntegerLiteral':
    case 'FloatLiteral':
      return literal(node);
    case 'Identifier':
      return nameOf(node);
    case 'ArrayLiteral':
    case 'TupleLiteral':
      return { kind: 'list', items: listOf(node['value']).map((item) => translate(item, depth)) };
    case 'ObjectLiteral':
      return { kind: 'record', entries: entries(node['value'], depth) };
    case 'MemberExpression':
      return member(node, depth);
    case 'CallExpression':
      return method(node, depth);
    case 'UnaryExpression':
      return unary(node, depth);
    case 'BinaryExpression':
      return binary(node, depth);
    case 'FilterExpression':
      return filter(node, part('operand'), depth);
    case 'TestExpression':
      return test(node, depth);
    case 'Ternary':
      return { kind: 'choice', condition: part('condition'), yes: part('trueExpr'), no: part('falseExpr') };
    case 'SelectExpression':
      return { kind: 'choice', condition: part('test'), yes: part('lhs'), no: undefined };
    default:
      return fail(REFUSED[node.type] ?? `statements are not supported, only expressions (${node.type})`);
  }
};
