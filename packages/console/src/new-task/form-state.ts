import { createKey } from '../session/context.ts';
import { NOTHING_TYPED, type Typed } from './submission.ts';

/** Draft of a new task. It survives navigation and sign-in, but not a reload. */
export type Draft = {
  /** ID of the task, chosen up front: repeated submissions create one task. */
  readonly id: string;
  /** `id@version` */
  readonly workflow: string;
  readonly typed: Typed;
};

const drafts = new Map<string, Draft>();

export const newTaskId = (): string => `t-${createKey().replaceAll('-', '').slice(0, 20)}`;

const createDraft = (): Draft => ({
  id: newTaskId(),
  workflow: '',
  typed: NOTHING_TYPED,
});

/** Owner of the draft: other users of this page never see it. */
export const draftOf = (name: string): Draft => drafts.get(name) ?? createDraft();
export const keepDraft = (name: string, draft: Draft): void => void drafts.set(name, draft);
export const dropDraft = (name: string): void => void drafts.delete(name);
