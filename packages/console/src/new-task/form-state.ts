import { createKey } from '../session/context.ts';
import { NOTHING_TYPED, type Typed } from './submission.ts';

/** A task that somebody has begun to write: kept while he looks elsewhere, or signs in again, and gone with the page. */
export type Draft = {
  /** The task that it becomes, however often it is sent: two of them never come of one. */
  readonly id: string;
  /** `id@version` */
  readonly workflow: string;
  readonly typed: Typed;
};

const drafts = new Map<string, Draft>();

export const newTaskId = (): string => `t-${createKey().replaceAll('-', '').slice(0, 20)}`;

const begun = (): Draft => ({
  id: newTaskId(),
  workflow: '',
  typed: NOTHING_TYPED,
});

/** By who writes it: nobody else who signs in on this page is shown it. */
export const draftOf = (name: string): Draft => drafts.get(name) ?? begun();
export const keepDraft = (name: string, draft: Draft): void => void drafts.set(name, draft);
export const dropDraft = (name: string): void => void drafts.delete(name);
