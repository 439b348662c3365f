import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHART_SCHEMA_FILE, chartSchema } from './chart-values.ts';
import { GENERATE_COMMAND, SETTINGS_FILE, settingsReference } from './settings.ts';
import { WORKFLOW_FIELDS_FILE, workflowFieldsReference } from './workflow-fields.ts';

const root = join(import.meta.dirname, '..', '..');

writeFileSync(join(root, SETTINGS_FILE), settingsReference());
writeFileSync(join(root, WORKFLOW_FIELDS_FILE), workflowFieldsReference(GENERATE_COMMAND));
writeFileSync(join(root, CHART_SCHEMA_FILE), chartSchema());
