import type { JsonObject } from '@holdpoint/contracts/values/json';
import { renderTemplate } from '@holdpoint/workflows/expression/expression';

/** Longer than anything that is shown: what a gate makes is cut, and does not fail for a long goal. */
const TEXT_MAX = 262_144;

/** A text of a gate, filled in. Throws `ExpressionError`. */
export const gateText = (text: string, scope: JsonObject): string => renderTemplate(text, scope, TEXT_MAX);
