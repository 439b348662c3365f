export type { TestEnvironment, TestEnvironmentOptions } from './testing/create-test-environment.ts';
export { createTestEnvironment } from './testing/create-test-environment.ts';
export type { CarryingOut, TestEffect, TestEffectEnd } from './testing/effects.ts';
export type { Carried, CrashOptions, CrashPoint } from './testing/faults.ts';
export type { Answering, TestAnswer, TestQuestion } from './testing/people.ts';
