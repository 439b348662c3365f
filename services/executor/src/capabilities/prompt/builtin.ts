import type { StageModule } from '../stage.ts';
import { resolvePrompt } from './resolve.ts';

/** A prompt that the template or a file of the repository has. */
export const promptFromText: StageModule = { uses: 'cap.env.builtin.prompt.resolve', run: resolvePrompt };
