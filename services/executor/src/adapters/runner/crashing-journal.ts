import type { CrashHook } from '@holdpoint/runtime/engine/ports';
import type { NoteStart } from './execute.ts';

/** The journal, with the places on both sides of a note where a test may end the process. */
export const crashingNote =
  (note: NoteStart, crash: CrashHook): NoteStart =>
  async (order, epoch) => {
    crash('before_note');
    await note(order, epoch);
    crash('after_note');
  };
