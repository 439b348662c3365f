import type { Report } from '../problems/report.ts';
import { parseClean } from '../reading/parse.ts';
import { parseShape } from '../reading/shape.ts';
import { exampleAt } from './field-docs.ts';
import { TemplateFile } from './schema.ts';

export const parseTemplate = (text: string, file: string, report: Report): TemplateFile | undefined => {
  const data = parseClean(text, file, report);
  return data === undefined ? undefined : parseShape(TemplateFile, data, { file, report, exampleAt });
};
