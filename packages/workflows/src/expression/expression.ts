import { BODY_MAX } from '@holdpoint/contracts/approval/commands';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Expression } from './syntax/tree.ts';
import { evaluate } from './evaluation/evaluate.ts';
import { ExpressionError, fail, failUnknown, withExpression } from './operations/expression-error.ts';
import { createMeter, RESULT_MAX, type Meter } from './operations/meter.ts';
import { namesOf } from './syntax/names.ts';
import { parseExpression } from './syntax/parse.ts';
import { checkBody } from './template/names.ts';
import { renderTree } from './evaluation/render.ts';
import { parseTemplate } from './template/tree.ts';
import { partsOf } from './syntax/text.ts';
import { isTrue, sizeOf, textOf, type Value } from './operations/values.ts';

export { ExpressionError } from './operations/expression-error.ts';

const checked = (value: Value, meter: Meter): Json => {
  if (sizeOf(value, meter) > RESULT_MAX)
    return fail(`gives more than ${String(RESULT_MAX)} characters or members`);
  return value ?? null;
};

/**
 * Evaluates a Jinja expression. Deterministic: no clock, no randomness, no access to the host, and a limit on
 * the work. An unknown name is an error. A missing member is undefined, which is false, and `null` as a
 * result. Throws `ExpressionError`.
 */
export const evaluateExpression = (text: string, scope: JsonObject): Json =>
  withExpression(text, () => {
    const meter = createMeter();
    return checked(evaluate(parseExpression(text), scope, meter), meter);
  });

/**
 * Whether a condition is true in Jinja's sense: empty, zero, null and missing values are false. Throws
 * `ExpressionError`.
 */
export const evaluateCondition = (text: string, scope: JsonObject): boolean =>
  withExpression(text, () => {
    const meter = createMeter();
    return isTrue(evaluate(parseExpression(text), scope, meter), meter);
  });

/**
 * Renders the `{{ expression }}` parts of a text. A missing or null value is an error, because it would
 * silently change a key or a target. Throws `ExpressionError`.
 */
export const renderText = (text: string, scope: JsonObject): string => {
  const meter = createMeter();
  let rendered = '';
  for (const part of withExpression(text, () => partsOf(text))) {
    rendered +=
      'plain' in part
        ? part.plain
        : withExpression(part.expression, () =>
            textOf(evaluate(parseExpression(part.expression), scope, meter), meter),
          );
    if (rendered.length > RESULT_MAX) fail(`the text exceeds ${String(RESULT_MAX)} characters`);
  }
  sizeOf(rendered, meter);
  return rendered;
};

/**
 * Renders a template with `{{ expression }}` parts, `if`, `for`, `set` and comments. Missing and null values
 * render as nothing. An unknown name, or more than `max` characters, is an error. Rendered values are not
 * evaluated again. Throws `ExpressionError`.
 */
export const renderTemplate = (text: string, scope: JsonObject, max = BODY_MAX): string =>
  renderTree(parseTemplate(text), scope, { meter: createMeter(), max });

const problemOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
};

const checkNames = (tree: Expression, names: ReadonlySet<string> | undefined): void => {
  if (names === undefined) return;
  for (const name of namesOf(tree)) if (!names.has(name)) failUnknown('name', name, names);
};

/** The first problem of an expression; undefined when there is none. Checks names only against `names`. */
export const checkExpression = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    checkNames(parseExpression(text), names);
  });

/** The first problem of a text with `{{ expression }}` parts; undefined when there is none. */
export const checkText = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    for (const part of partsOf(text)) {
      if (!('expression' in part)) continue;
      withExpression(part.expression, () => {
        checkNames(parseExpression(part.expression), names);
      });
    }
  });

/** The first problem of a template; undefined when there is none. Checks names only against `names`. */
export const checkTemplate = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    const body = parseTemplate(text);
    if (names !== undefined) checkBody(body, names);
  });
