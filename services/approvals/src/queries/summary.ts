import type { Summary } from '@holdpoint/runtime/engine/ports';
import type { ServiceState } from '../aggregates.ts';
import { approvalView } from './requests.ts';

/** What lists show, and what is looked up: a token is found by the hash of its secret, which no answer contains. */
export const summarise = (state: ServiceState): Summary => {
  switch (state.status) {
    case 'absent':
    case 'withdrawn':
    case 'audit':
      return { status: state.status, view: null };
    case 'rule':
      // What it was used for is for itself to know.
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
