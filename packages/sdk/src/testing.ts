export type { TestEnvironment, TestEnvironmentOptions } from './testing/create-test-environment.ts';
export { createTestEnvironment } from './testing/create-test-environment.ts';
export type { ExecuteEffect, TestEffect, TestEffectEnd } from './testing/effects.ts';
export type { TestMessage, CrashOptions, CrashPoint } from './testing/faults.ts';
export type { AnswerQuestion, TestAnswer, TestQuestion } from './testing/approvals.ts';
export type { TestGate, TestGateOptions } from './testing/gate.ts';
export { createTestGate } from './testing/gate.ts';
