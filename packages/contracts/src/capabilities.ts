import type { EffectClass } from './workflow.ts';

/**
 * The effect class of every capability that may change the world. The class belongs to the capability: whoever submits
 * a task cannot choose it, and the executor refuses an order that names another.
 */
export const EFFECT_CLASSES: Readonly<Record<string, EffectClass>> = {
  'cap.file.append': 'keyed',
  'cap.http.request': 'opaque',
  // For targets that are known to remember an Idempotency-Key: which they are is the executor's own configuration.
  'cap.http.keyed_request': 'keyed',
};
