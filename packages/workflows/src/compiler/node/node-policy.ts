import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { parseRetryMode, RETRY_MODES } from '../../reading/coerce.ts';
import type { Fields } from '../parameters/fields.ts';
import { shown } from '../../problems/report.ts';
import type { RawOnError } from '../../template/schema.ts';
import type { TemplateNode } from '../../template/template.ts';

type Retry = NonNullable<NodeDefinition['retry']>;
type OnError = NonNullable<NodeDefinition['onError']>;

const retryOf = (raw: NonNullable<TemplateNode['retry']>, fields: Fields): Retry => {
  const written = fields.text(raw.mode ?? 'never', 'retry.mode');
  const mode = parseRetryMode(written);
  if (mode === undefined) {
    const expected = RETRY_MODES.join(', ');
    fields.error('WORKFLOW_VALUE_COERCION', 'retry.mode', shown(written), expected, [written, RETRY_MODES]);
  }
  const budget = raw.budget === undefined ? undefined : fields.count(raw.budget, 'retry.budget');
  return { mode: mode ?? 'never', ...(budget !== undefined && { budget }) };
};

/** The default of a loop without a budget. */
const RETRIES = 3;
const DELAY_MS = 1_000;

/** Recovery decides these numbers itself. */
const refuseNumbers = (raw: RawOnError, fields: Fields): void => {
  for (const key of ['max_retries', 'backoff', 'delay_ms'] as const) {
    const value = raw[key];
    if (value === undefined) continue;
    const expected = 'no value: with strategy = "recover", .holdpoint/recovery.toml decides';
    fields.error('WORKFLOW_ON_ERROR_RECOVER', `on_error.${key}`, shown(value), expected);
  }
};

const onErrorOf = (raw: RawOnError, fields: Fields): OnError => {
  const retries = raw.strategy === 'retry';
  const { max_retries: most, delay_ms: delay, backoff } = raw;
  if (raw.strategy === 'recover') {
    refuseNumbers(raw, fields);
    return { strategy: 'recover', maxRetries: 0, backoff: 'exponential', delayMs: 0 };
  }
  if (!retries && (most !== undefined || delay !== undefined || backoff !== undefined)) {
    const expected = 'strategy = "retry": other strategies ignore these fields';
    fields.warning('WORKFLOW_ON_ERROR_UNUSED', 'on_error', 'max_retries, backoff or delay_ms', expected);
  }
  return {
    strategy: raw.strategy,
    maxRetries:
      (most === undefined ? undefined : fields.count(most, 'on_error.max_retries')) ??
      (retries ? RETRIES : 0),
    backoff: backoff ?? 'exponential',
    delayMs:
      (delay === undefined ? undefined : fields.count(delay, 'on_error.delay_ms')) ??
      (retries ? DELAY_MS : 0),
  };
};

const EXPRESSIONS = { guard: 'guard', for_each: 'forEach', until: 'until' } as const;

/**
 * A value pasted into an expression would become part of its syntax, so expressions read parameters by name.
 */
const expressionsOf = (
  node: TemplateNode,
  fields: Fields,
): Pick<NodeDefinition, 'guard' | 'forEach' | 'until'> => {
  const found: { guard?: string; forEach?: string; until?: string } = {};
  for (const key of ['guard', 'for_each', 'until'] as const) {
    const text = node[key];
    if (text === undefined) continue;
    found[EXPRESSIONS[key]] = text;
    if (!text.includes('${')) continue;
    const expected = 'inputs.<name>: an expression takes no placeholders';
    fields.error('WORKFLOW_EXPRESSION_PLACEHOLDER', key, shown(text), expected);
  }
  return found;
};

type Policy = Pick<
  NodeDefinition,
  'retry' | 'onError' | 'guard' | 'forEach' | 'until' | 'parallel' | 'timeoutMs'
>;

/** When a node runs, how often, and for how long. */
export const policyOf = (node: TemplateNode, fields: Fields): Policy => {
  const parallel = node.parallel === undefined ? undefined : fields.count(node.parallel, 'parallel');
  if (parallel !== undefined && node.for_each === undefined)
    fields.error(
      'WORKFLOW_PARALLEL_ALONE',
      'parallel',
      String(parallel),
      'for_each as well: parallel limits its items',
    );
  const timeoutMs = node.timeout === undefined ? undefined : fields.time(node.timeout, 'timeout');
  return {
    ...expressionsOf(node, fields),
    ...(parallel !== undefined && { parallel }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(node.retry !== undefined && { retry: retryOf(node.retry, fields) }),
    ...(node.on_error !== undefined && { onError: onErrorOf(node.on_error, fields) }),
  };
};
