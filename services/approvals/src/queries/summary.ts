import type { Summary } from '@holdpoint/runtime/engine/ports';
import type { ServiceState } from '../aggregates.ts';
import { approvalView } from './requests.ts';

/**
 * Status and view of an aggregate in the lists. The view of a token contains its hash, which no answer
 * returns.
 */
export const summarise = (state: ServiceState): Summary => {
  switch (state.status) {
    case 'absent':
    case 'withdrawn':
    case 'audit':
      return { status: state.status, view: null };
    case 'rule':
      // Only the rule itself needs the approvals that it decided.
      return { status: state.status, view: { ...state, usedFor: [] } };
    case 'token':
      return { status: state.status, view: state };
    case 'pending':
    case 'closed': {
      const view = approvalView(state);
      return { status: view.status, view };
    }
  }
};
