import type { Json } from '@holdpoint/contracts/values/json';
import { fail } from './expression-error.ts';
import type { Meter } from './meter.ts';
import { compare, isEqual, isList, isRecord, kindOf, textOf, type Value } from './values.ts';

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**' | '~' | Comparison;
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

/** A number that JSON can represent. */
export const finite = (value: number): number =>
  Number.isFinite(value) ? value : fail('the result is no finite number, as after a division by zero');

type Arithmetic = '-' | '*' | '/' | '//' | '%' | '**';

const ARITHMETIC: Readonly<Record<Arithmetic, (one: number, other: number) => number>> = {
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
  '/': (one, other) => one / other,
  '//': (one, other) => Math.floor(one / other),
  // The result has the sign of the divisor, as in Python.
  '%': (one, other) => one - other * Math.floor(one / other),
  '**': (one, other) => one ** other,
};

const arithmetic = (operator: Arithmetic, left: Value, right: Value): number => {
  if (typeof left === 'number' && typeof right === 'number') return finite(ARITHMETIC[operator](left, right));
  return fail(`"${operator}" needs two numbers, not ${kindOf(left)} and ${kindOf(right)}`);
};

const joined = (left: string, right: string, meter: Meter): string => {
  meter.size(left.length + right.length);
  return left + right;
};

const sum = (left: Value, right: Value, meter: Meter): Json => {
  if (typeof left === 'number' && typeof right === 'number') return finite(left + right);
  if (typeof left === 'string' && typeof right === 'string') return joined(left, right, meter);
  if (isList(left) && isList(right)) {
    meter.size(left.length + right.length);
    return [...left, ...right];
  }
  return fail(
    `"+" needs two numbers, two texts or two lists, not ${kindOf(left)} and ${kindOf(right)} ("~" joins other values)`,
  );
};

/** A missing container contains nothing. */
export const contains = (container: Value, item: Value, meter: Meter): boolean => {
  if (container === undefined) return false;
  if (isList(container)) return container.some((member) => isEqual(member, item, meter));
  if (typeof item !== 'string')
    return fail(`"in" looks for a text in ${kindOf(container)}, not for ${kindOf(item)}`);
  if (isRecord(container)) return Object.hasOwn(container, item);
  if (typeof container !== 'string') return fail(`"in" does not work on ${kindOf(container)}`);
  // The worst case of a search is the product of both lengths.
  meter.work(container.length + Math.ceil((container.length * item.length) / 64));
  return container.includes(item);
};

export const applyOperator = (operator: BinaryOperator, left: Value, right: Value, meter: Meter): Json => {
  switch (operator) {
    case '==':
      return isEqual(left, right, meter);
    case '!=':
      return !isEqual(left, right, meter);
    case '<':
      return compare(left, right, meter) < 0;
    case '<=':
      return compare(left, right, meter) <= 0;
    case '>':
      return compare(left, right, meter) > 0;
    case '>=':
      return compare(left, right, meter) >= 0;
    case 'in':
      return contains(right, left, meter);
    case 'not in':
      return !contains(right, left, meter);
    case '~':
      return joined(textOf(left, meter), textOf(right, meter), meter);
    case '+':
      return sum(left, right, meter);
    default:
      return arithmetic(operator, left, right);
  }
};
