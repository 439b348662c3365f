import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { fail, failUnknown } from '../operations/expression-error.ts';
import { FILTERS } from '../operations/filters.ts';
import { METHODS } from '../operations/methods.ts';
import type { Meter } from '../operations/meter.ts';
import { applyOperator } from '../operations/operators.ts';
import { sliceOf } from '../operations/slice.ts';
import { TESTS } from '../operations/tests.ts';
import type { Expression } from '../syntax/tree.ts';
import { isList, isRecord, isTrue, kindOf, lettersOf, memberOf, type Value } from '../operations/values.ts';

const lookup = (scope: JsonObject, name: string): Value =>
  Object.hasOwn(scope, name) ? scope[name] : failUnknown('name', name, Object.keys(scope));

/** A missing member is undefined, and so is every member of undefined. */
const member = (of: Value, key: Value, meter: Meter): Value => {
  if (of === undefined) return undefined;
  if (isRecord(of) && typeof key === 'string') return memberOf(of, key);
  if (typeof key === 'number' && Number.isInteger(key)) {
    if (isList(of)) return of.at(key);
    if (typeof of === 'string') return lettersOf(of, meter).at(key);
  }
  if (typeof key === 'string') return undefined;
  return fail(`${kindOf(of)} has no members with ${kindOf(key)} as their key`);
};

const negative = (minus: boolean, value: Value): number => {
  if (typeof value !== 'number') return fail(`a sign needs a number, not ${kindOf(value)}`);
  return minus ? 0 - value : value;
};

/** The scope and the meter of one evaluation. */
type Within = { readonly scope: JsonObject; readonly meter: Meter };

/** Evaluates an expression. The bounded tree limits the depth, the meter limits the work. */
export const evaluate = (expression: Expression, scope: JsonObject, meter: Meter): Value =>
  get(expression, { scope, meter });

const get = (expression: Expression, within: Within): Value => {
  const { scope, meter } = within;
  meter.work(1);
  switch (expression.kind) {
    case 'value':
      return expression.value;
    case 'name':
      return lookup(scope, expression.name);
    case 'list':
      return expression.items.map((item) => jsonOf(item, within));
    case 'record':
      // Defines own properties even for names such as `__proto__`; an assignment would not.
      return Object.fromEntries(
        expression.entries.map(([key, value]) => [keyOf(get(key, within)), jsonOf(value, within)]),
      );
    case 'member':
      return member(get(expression.of, within), get(expression.key, within), meter);
    case 'slice': {
      const { of, start, stop, step } = expression;
      return sliceOf(
        get(of, within),
        [optional(start, within), optional(stop, within), optional(step, within)],
        meter,
      );
    }
    case 'not':
      return !isTrue(get(expression.of, within), meter);
    case 'sign':
      return negative(expression.minus, get(expression.of, within));
    case 'and': {
      const left = get(expression.left, within);
      return isTrue(left, meter) ? get(expression.right, within) : left;
    }
    case 'or': {
      const left = get(expression.left, within);
      return isTrue(left, meter) ? left : get(expression.right, within);
    }
    case 'binary':
      return applyOperator(
        expression.operator,
        get(expression.left, within),
        get(expression.right, within),
        meter,
      );
    case 'choice':
      return isTrue(get(expression.condition, within), meter)
        ? get(expression.yes, within)
        : optional(expression.no, within);
    case 'test':
      return (
        (TESTS.get(expression.name)?.(get(expression.of, within)) ?? fail('no such test')) !==
        expression.negated
      );
    case 'filter':
    case 'method': {
      const { kind, name, of, args } = expression;
      const called = (kind === 'filter' ? FILTERS : METHODS).get(name) ?? fail(`no such ${kind}`);
      return called.run(
        get(of, within),
        args.map((arg) => optional(arg, within)),
        meter,
      );
    }
  }
};

const optional = (part: Expression | undefined, within: Within): Value => part && get(part, within);

/** In lists and objects, undefined becomes null, because JSON has no undefined. */
const jsonOf = (part: Expression, within: Within): Json => get(part, within) ?? null;

const keyOf = (key: Value): string =>
  typeof key === 'string' ? key : fail(`object keys are texts, not ${kindOf(key)}`);
