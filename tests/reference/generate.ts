import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS_FILE, settingsReference } from './settings.ts';

writeFileSync(join(import.meta.dirname, '..', '..', SETTINGS_FILE), settingsReference());
