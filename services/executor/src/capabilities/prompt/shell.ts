import type { StageModule } from '../stage.ts';
import { resolvePrompt } from './resolve.ts';

/** A prompt that a script of the template prints. */
export const promptFromScript: StageModule = {
  uses: 'cap.env.shell.prompt.resolve',
  run: resolvePrompt,
  startsPrograms: true,
};
