import type { StageModule } from '../stage.ts';
import { shellCommand } from './command.ts';

/** The script of a CI run: it is run as any other. */
export const shellCicd: StageModule = { ...shellCommand, uses: 'cap.env.shell.cicd.run' };
