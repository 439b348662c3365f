import type { WorkflowPolicy } from '@holdpoint/contracts/workflow';
import type { Report } from './report.ts';
import type { Template } from './template.ts';

/** The policy of a workflow, with what a template leaves out. */
export const workflowPolicy = ({ policy, file }: Template, report: Report): WorkflowPolicy => {
  if (policy.resume?.reuse_mode === 'compatible') {
    report.error({
      code: 'WORKFLOW_RESUME',
      path: 'policy.resume.reuse_mode',
      found: 'compatible',
      expected: 'strict: a run goes on with the definition that it was started with, and no other',
      file,
    });
  }
  return {
    failureMode: policy.failure_mode ?? 'block_downstream',
    missingProducer: policy.dependencies?.missing_producer ?? 'block',
  };
};
