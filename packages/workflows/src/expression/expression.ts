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
 * What a Jinja expression comes to. The same text and the same scope always give the same value: there is no clock, no
 * chance, no host, and nothing that can run for long. A name that the scope does not hold is an error; a member that is
 * not there is nothing, which is false, and `null` as a result. Throws `ExpressionError`.
 */
export const evaluateExpression = (text: string, scope: JsonObject): Json =>
  withExpression(text, () => {
    const meter = createMeter();
    return checked(evaluate(parseExpression(text), scope, meter), meter);
  });

/** Whether a condition holds, as Jinja sees it: what is empty, zero, null or not there does not. Throws `ExpressionError`. */
export const evaluateCondition = (text: string, scope: JsonObject): boolean =>
  withExpression(text, () => {
    const meter = createMeter();
    return isTrue(evaluate(parseExpression(text), scope, meter), meter);
  });

/**
 * A text with its `{{ expression }}` parts put in. One that gives nothing, or null, is an error: what it leaves out would
 * make a key or a target of something else. Throws `ExpressionError`.
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
    if (rendered.length > RESULT_MAX) fail(`the text becomes longer than ${String(RESULT_MAX)} characters`);
  }
  sizeOf(rendered, meter);
  return rendered;
};

/**
 * A template with its `{{ expression }}` parts put in and its statements carried out: `if`, `for`, `set`, and comments.
 * What gives nothing, or null, leaves nothing; a name that the scope does not hold is an error, and so is a text of more than
 * `max` characters. What is put in is never looked at again. Throws `ExpressionError`.
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

/** What is wrong with an expression, if anything is; its names are looked at when it is said which there will be. */
export const checkExpression = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    checkNames(parseExpression(text), names);
  });

/** What is wrong with a text with `{{ expression }}` parts, if anything is. */
export const checkText = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    for (const part of partsOf(text)) {
      if (!('expression' in part)) continue;
      withExpression(part.expression, () => {
        checkNames(parseExpression(part.expression), names);
      });
    }
  });

/** What is wrong with a template, if anything is; its names are looked at when it is said which there will be. */
export const checkTemplate = (text: string, names?: ReadonlySet<string>): string | undefined =>
  problemOf(() => {
    const body = parseTemplate(text);
    if (names !== undefined) checkBody(body, names);
  });
