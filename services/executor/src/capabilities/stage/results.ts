import type { StepResult } from '@holdpoint/contracts/task/step';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { ProbeResult } from '../../ports/capability.ts';

/** The probe result of an applied effect. */
export const foundApplied = (reason: string, result: StepResult): ProbeResult => ({
  found: 'applied',
  reason,
  outputs: JsonObject.parse(result),
});

const DETAIL_MAX = 2_000;
const detailOf = (text: string): string =>
  text.slice(0, DETAIL_MAX).toWellFormed().replaceAll('\0', '\uFFFD');

export const succeeded = (
  detail?: string,
  more: Omit<StepResult, 'outcome' | 'detail'> = {},
): StepResult => ({
  outcome: 'succeeded',
  ...(detail !== undefined && { detail: detailOf(detail) }),
  ...more,
});
export const failed = (detail: string, more: Omit<StepResult, 'outcome' | 'detail'> = {}): StepResult => ({
  outcome: 'failed',
  exitCode: 1,
  detail: detailOf(detail),
  ...more,
});
export const blocked = (detail: string, more: Omit<StepResult, 'outcome' | 'detail'> = {}): StepResult => ({
  outcome: 'blocked',
  exitCode: 10,
  detail: detailOf(detail),
  ...more,
});
